"""A fleet as an operator runs it: PostgreSQL, replicas, cabinets and HAProxy, each on a
machine of its own, whose processes are killed and whose cables are cut."""
