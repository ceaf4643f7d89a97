"""What goes through the socket of a kernel: requests in, frames out.

A request is JSON: a number that was drawn for it, what to do, and the arguments. Each
frame names the request that it belongs to, and holds bytes or flat texts.
"""

from __future__ import annotations

import struct

REQUEST = struct.Struct("<I")  # before a request: how many bytes follow
HEADER = struct.Struct("<QcI")  # before a frame: the number, the kind, how many follow
STDOUT, STDERR, ERROR, DISPLAY, CLEAR = b"o", b"e", b"x", b"d", b"c"
ANSWER, DONE = b"a", b"."
KINDS = {STDOUT, STDERR, ERROR, DISPLAY, CLEAR, ANSWER, DONE}
WAIT = "wait"  # to clear until the next output comes
BETWEEN = "\0"  # the texts of a frame; only the last one may hold it
STARTED = b"started"  # says a warden, with a descriptor of the kernel's process
