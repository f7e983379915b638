"""The states of a connection, and what leads from one state to another.

    state      what happens                      next state   who answers
    ---------  --------------------------------  -----------  -----------------
    (new)      there is room for it              HEAD         -
               there are too many connections    LINGER       handler.refuse
    HEAD       part of a head arrives            HEAD         -
               a head is malformed or too large  LINGER       handler.refuse
               a head is complete, and
                 the handler decides later       DECIDING     -
                 it is refused, and there is
                   no body                       HEAD         handler.begin
                   a short body of known length  SKIP         handler.begin
                   any other body                LINGER       handler.begin
                 its body is too long            LINGER       responder.refuse
                 it is accepted with a body      BODY         - (or 100 Continue)
                 it is accepted without a body   as for a complete body
               nothing has arrived, and the
                 service is stopping             LINGER       -
    DECIDING   the handler calls `resume`        as for a complete head
    BODY       part of the body arrives          BODY         -
               the body is complete, and
                 the answer is ready             HEAD         responder.answer
                 the handler answers later       ANSWERING    -
               it is malformed or too long       LINGER       responder.refuse
    ANSWERING  the handler calls `resume`        HEAD         handler
    SKIP       part of the body arrives          SKIP         - (it is dropped)
               the body is complete              HEAD         -
    QUEUED     the backlog calls `go_on`         HEAD         -
    LINGER     bytes arrive                      LINGER       - (they are dropped)

If more bytes have arrived when a message is done, QUEUED follows instead of HEAD. After
an answer with `Connection: close`, LINGER follows instead; if the client asked for it,
and no more bytes have arrived, the connection is closed at once. An exception in our
code leads to LINGER, answered by fail. QUEUED, DECIDING and ANSWERING have no deadline,
and the answer is sent even after the client's FIN. In other states, FIN closes the
connection. So does a deadline, unless a head or body is unfinished: that leads to
LINGER, answered by refuse. If the client does not read, the connection is aborted.
"""

# Plain integers, because an Enum costs a microsecond per message.
HEAD = 0
BODY = 1
SKIP = 2
QUEUED = 3
DECIDING = 4
ANSWERING = 5
LINGER = 6
# In these states, arriving bytes have to wait.
PAUSED = (QUEUED, DECIDING, ANSWERING)
