"""The states of a connection, and what leads from one to another.

    state    what happens                      next state   who answers
    -------  --------------------------------  -----------  -----------------------
    (new)    there is room for it              HEAD         -
             there are too many connections    LINGER       handler.refuse
    HEAD     its turn has not come yet         QUEUED       -
             a whole message arrives whose
               kind of head and key are
               known, even to be refused       HEAD         responder.answer_known
             part of a head arrives            HEAD         -
             a head is malformed or too large  LINGER       handler.refuse
             a head is complete, and
               the key must be looked up       WAITING      -
               it is refused, and there is
                 no body                       HEAD         handler.begin
                 a short body of known length  SKIP         handler.begin
                 any other body                LINGER       handler.begin
               its body is too long            LINGER       responder.refuse
               it is accepted without a body   HEAD         responder.answer
               it is accepted with a body      BODY         - (or 100 Continue)
             nothing has arrived, and the
               service is stopping             LINGER       -
    QUEUED   bytes arrive                      QUEUED       - (they are buffered)
             its turn comes                    HEAD         -
    WAITING  bytes arrive                      WAITING      - (they are buffered)
             the handler calls `resume`        as for a complete head
    BODY     part of the body arrives          BODY         -
             the body is complete              HEAD         responder.answer
             it is malformed or too long       LINGER       responder.refuse
    SKIP     part of the body arrives          SKIP         - (it is dropped)
             the body is complete              HEAD         -
    LINGER   bytes arrive                      LINGER       - (they are dropped)

After an answer with `Connection: close`, LINGER follows instead of HEAD. An exception
of ours leads to LINGER, answered by fail. When a deadline passes, a begun head or
body leads to LINGER, answered by refuse; QUEUED and WAITING ignore it; others are
closed. When the client sends its end (FIN), QUEUED and WAITING go on to their
answer, and others are closed. A client that does not read its answers is aborted.
"""

# Plain numbers: an Enum costs a microsecond per message.
HEAD = 0
BODY = 1
SKIP = 2
QUEUED = 3
WAITING = 4
LINGER = 5
# In these, bytes that arrive cannot be worked on yet.
PAUSED = (QUEUED, WAITING)
