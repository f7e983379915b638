"""A fleet as an operator runs it: PostgreSQL, replicas, cabinets and HAProxy, each on
its own machine, whose processes are killed and whose cables are cut."""
