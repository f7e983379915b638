"""The history of the schema; applied by `readback.cabinet.storage.schema`."""
