"""Small programs that send the same requests as the probe, each with other means.

Each reads four lines from standard input (the base URL, the key, a timeout in seconds,
the body of a chat request or nothing) and prints lines that begin with `version`,
`models` and a status, `chat` and a status and the body in Base64, or `error`.
"""
