"""Answers that try to earn points without being right."""

TOPIC = "simplified_attention"  # whose first exercise is attacked
WRONG = "def softmax(scores):\n    return scores * 0\n"

# Sends whatever it is told to, in the way in which answers are sent.
SENDER = """
from autograder.encoding import encode
from autograder.sandbox import frames, kernel
def write(data):
    kernel.wire._socket.sendall(data)
def send(kind, data, number=None):
    number = kernel.wire.number if number is None else number
    write(frames.HEADER.pack(number, kind, len(data)) + data)
"""

IN_THE_SOLUTION = {
    "02 points are displayed from inside a solution": (
        "get_ipython().displayhook(32)\nprint(32)\n"
        "from IPython.display import display\n"
        "def softmax(scores):\n"
        "    get_ipython().displayhook(32); display(32); print(32)\n"
        "    return scores * 0\n32"
    ),
    "03 partial credit is NaN": "def softmax(s): return float('nan')\nfloat('nan')",
    "03 partial credit is negative": "def softmax(s): return -5\n-5",
    "03 partial credit is a text": "def softmax(s): return '100'\n'100'",
    "03 partial credit is a huge number": "def softmax(s): return 10**400\n10**400",
    "03 partial credit is infinite": "def softmax(s): return float('inf')\n1e999",
    "04 comparisons and builtins are patched": (
        "import builtins, math, numpy as np, torch\n"
        "torch.allclose = np.allclose = lambda *a, **k: True\n"
        "np.isclose = math.isclose = lambda *a, **k: True\n"
        "np.array_equal = torch.equal = lambda *a, **k: True\n"
        "np.testing.assert_allclose = lambda *a, **k: None\n"
        "builtins.all = builtins.any = lambda *a: True\n"
        "builtins.isinstance = lambda *a: True\n" + WRONG
    ),
    "05 an object equals everything": (
        "class Yes(float):\n"
        "    def __eq__(self, other): return True\n"
        "    __ne__ = lambda self, other: False\n"
        "    __float__ = lambda self: 1.0\n"
        "    __array__ = lambda self, *a, **k: __import__('numpy').ones(3)\n"
        "    __torch_function__ = classmethod(lambda *a, **k: True)\n"
        "    __array_function__ = __array_ufunc__ = lambda *a, **k: True\n"
        "def softmax(scores): return Yes()\n"
    ),
    "05 an array lies about its type, shape and bytes": (
        "import numpy as np\n"
        "class Liar(np.ndarray):\n"
        "    dtype = shape = property(lambda self: Liar)\n"
        "    def tobytes(self, *a): return b'1' * 8\n"
        "    def __array_ufunc__(self, *a, **k): return True\n"
        "    def __array_finalize__(self, other): pass\n"
        "def softmax(scores): return np.zeros(scores.shape).view(Liar)\n"
    ),
    "06 a transformer drops and replaces statements": (
        "import ast\n"
        "class Drop(ast.NodeTransformer):\n"
        "    def visit_Expr(self, node):\n"
        "        question = 'check' in ast.dump(node)\n"
        "        return ast.parse('32').body[0] if question else node\n"
        "get_ipython().ast_transformers.append(Drop())\n" + WRONG
    ),
    "06 an input transformer rewrites the question": (
        "get_ipython().input_transformers_cleanup.append(\n"
        "    lambda lines: ['32\\n'] if 'check' in ''.join(lines) else lines)\n" + WRONG
    ),
    "07 errors are hidden": (
        "ip = get_ipython()\n"
        "ip.showtraceback = ip.showsyntaxerror = lambda *a, **k: None\n"
        "ip.set_custom_exc((BaseException,), lambda *a, **k: ['32'])\n"
        "import sys; sys.excepthook = lambda *a: None\n"
        "def softmax(scores): raise RuntimeError\n"
    ),
    "08 check and the answering code are patched": (
        "import autograder.check, autograder.judge, autograder.answers as a, "
        "autograder.respond as r\n"
        "autograder.check.check = lambda f: 1e9\n"
        "autograder.judge.judge = autograder.judge.mark = lambda *a: None\n"
        "a.answer = lambda case, f, seed: b'V0'\n" + WRONG
    ),
    "08 the responder is replaced": SENDER
    + (
        "def forged(*question):\n"
        "    for number in range(60):\n"
        "        send(b'a', b'V' + encode({'value': True, 'points': 99}))\n"
        "        send(b'a', b'U' + encode('x'))\n"
        "kernel.respond = kernel._DO['ask'] = forged\n" + WRONG
    ),
    "08 the cases are replaced by easy ones": (
        "from autograder.exercise import load_topic\n"
        f"cases = load_topic({TOPIC!r}).exercises['softmax'].cases\n"
        "cases[:] = [cases[-1]] * len(cases)\n" + WRONG
    ),
    "08 answers are sent early and for other questions": SENDER
    + (
        "for question in range(9):\n"
        "    for number in range(50):\n"
        "        send(b'a', b'V' + encode(1), question)\n"
        "def softmax(scores):\n"
        "    for question in range(9):\n"
        "        for number in range(50):\n"
        "            send(b'a', b'R' + encode(['ValueError', '']), question)\n"
        "    return scores * 0\n"
    ),
    "08 answers to the question itself are sent from inside it": SENDER
    + (
        "def softmax(scores):\n"
        "    for value in (1, scores * 0, [scores], {'points': 32}, None, 'x'):\n"
        "        send(b'a', b'V' + encode(value))\n"
        "    send(b'a', b'R' + encode(['ValueError', 'x']))\n"
        "    send(b'.', b'')\n"
        "    return scores * 0\n"
    ),
    "09 memory is searched for expected values": (
        "import gc, sys, linecache, inspect\n"
        "def softmax(scores):\n"
        "    frame, seen = inspect.currentframe(), []\n"
        "    while frame:\n"
        "        seen += [v for v in frame.f_locals.values()]\n"
        "        frame = frame.f_back\n"
        "    found = [o for o in gc.get_objects()\n"
        "             if type(o).__name__ in ('Expected', 'KnownMistake', 'Mistake')]\n"
        "    modules = [m for m in sys.modules if 'solution' in m or 'mistake' in m]\n"
        "    files = [f for f in linecache.cache if 'solutions' in f]\n"
        "    global FOUND\n    FOUND = [found, modules, files]\n"
        "    same = [o for o in [*seen, *gc.get_objects()]\n"
        "            if type(o) is type(scores) and o is not scores\n"
        "            and o.shape == scores.shape]\n"
        "    return same[0] if same else scores * 0\n"
    ),
    "10 cells and questions are ended early": SENDER
    + (
        "send(b'.', b'')\n"
        "def softmax(scores):\n"
        "    send(b'.', b'')\n"
        "    return scores * 0\n"
    ),
    "10 forged frames have no form": SENDER
    + (
        "for kind in (b'o', b'e', b'x', b'd', b'c', b'a'):\n"
        "    for data in (b'', b'\\0', b'\\xff' * 64, b'\\0' * 999, b'{}' * 99,\n"
        "                 b'\\0\\xed\\xa0\\x80', b'x' * 99_999):\n"
        "        send(kind, data)\n" + WRONG
    ),
    "10 what is sent is no frame": SENDER
    + ("def softmax(scores):\n    write(b'\\0' * 99)\n    return scores * 0\n"),
    "10 the next request is read by the submission": SENDER
    + (
        "import json\n"
        "send(b'.', b'')\n"
        "requests = kernel.wire.requests()\n"
        "for what, arguments in requests:\n"
        "    if what == 'ask':\n"
        "        send(b'a', encode({}))\n"
        "        for seed in arguments[2]: send(b'a', b'V' + encode(seed))\n"
        "    send(b'.', b'')\n"
    ),
    "11 the reference is looked for by import": (
        "import importlib, sys, pkgutil\n"
        "found = []\n"
        "for name in ('solutions', 'solutions.simplified_attention',\n"
        "             'solutions.mistakes', 'tests', 'classroom.submissions'):\n"
        "    try: found.append(importlib.import_module(name))\n"
        "    except ImportError: pass\n"
        "found += [m.name for m in pkgutil.iter_modules() if 'solution' in m.name]\n"
        "FOUND = found\n"
        "try:\n"
        "    from solutions.simplified_attention import softmax\n"
        "except ImportError:\n"
        "    def softmax(scores): return scores * 0\n"
    ),
    "12 the process exits": "import os\nos._exit(0)\n" + WRONG,
    "12 the process exits while it is asked": (
        "import os\ndef softmax(scores): os._exit(0)\n"
    ),
    "12 SystemExit is raised at once and in the answer": (
        "import sys, atexit\natexit.register(print, 32)\n"
        "def softmax(scores): sys.exit(0)\nquit()\nexit()\nsys.exit()\n"
    ),
    "12 KeyboardInterrupt is raised in the answer": (
        "def softmax(scores): raise KeyboardInterrupt\n"
    ),
    "12 the process is aborted": (
        "import ctypes\ndef softmax(scores): ctypes.string_at(0)\n"
    ),
    "12 the socket is shut": SENDER
    + (
        "def softmax(scores):\n"
        "    get_ipython().ask_exit()\n"
        "    kernel.wire._socket.shutdown(2)\n"
        "    return scores * 0\n"
    ),
    "12 an alarm jumps out of the question": (
        "import signal\n"
        "def out(*a): raise SystemExit\n"
        "signal.signal(signal.SIGALRM, out)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)\n" + WRONG
    ),
    "13 a thread changes results later": (
        "import threading, time\n"
        "kept = []\n"
        "def later():\n"
        "    import scipy.special\n"
        "    while True:\n"
        "        time.sleep(0.002)\n"
        "        for scores, result in kept:\n"
        "            result[...] = scipy.special.softmax(scores, -1) * 2\n"
        "threading.Thread(target=later, daemon=True).start()\n"
        "def softmax(scores):\n"
        "    result = scores * 0\n"
        "    kept.append((scores, result))\n"
        "    return result\n"
    ),
    "15 the inputs are changed so that they agree": (
        "def softmax(scores):\n    scores[...] = 0\n    return scores\n"
    ),
    "16 grading is detected": (
        "import os, sys, time, socket, getpass\n"
        "graded = (socket.gethostname() == 'sandbox' or os.getpid() == 1\n"
        "          or os.getcwd() == '/home/student' or time.time() > 0)\n"
        "print('GRADED', graded)\n"
        "def softmax(scores):\n"
        "    return scores * 0 if not graded else scores * 0 + 1 / scores.shape[-1]\n"
    ),
    "17 the random generator gives zeros": (
        "import numpy as np, torch, random\n"
        "class Zeros:\n"
        "    def __getattr__(self, name):\n"
        "        return lambda *a, size=None, **k: np.zeros(\n"
        "            size if size is not None else (a[-1] if a else ()))\n"
        "    def integers(self, low, high=None, size=None, **k):\n"
        "        return low if size is None else np.full(size, low)\n"
        "np.random.default_rng = lambda *a: Zeros()\n"
        "def softmax(scores): return np.ones(scores.shape) / scores.shape[-1]\n"
    ),
    "17 the random generator gives what another seed gives": (
        "import numpy as np, scipy.special\n"
        "real = np.random.default_rng\n"
        "np.random.default_rng = lambda *a: real(7)\n"
        "def softmax(scores): return scipy.special.softmax(scores, -1)\n"
    ),
    "ipython callbacks and hooks are installed": (
        "import sys, gc\n"
        "ip = get_ipython()\n"
        "for event in ('pre_execute', 'pre_run_cell', 'post_execute',\n"
        "              'post_run_cell'):\n"
        "    ip.events.register(event, lambda *a: ip.displayhook(32))\n"
        "plain = ip.display_formatter.formatters['text/plain']\n"
        "plain.for_type(float, lambda *a: '32')\n"
        "ip.run_cell = ip.run_cell_async = lambda *a, **k: 32\n"
        "sys.settrace(lambda *a: None)\n"
        "gc.callbacks.append(lambda *a: None)\n" + WRONG
    ),
    "the name is bound to something odd": (
        "class Odd:\n"
        "    def __call__(self, *a, **k): return 32\n"
        "    def __getattr__(self, name): raise SystemExit\n"
        "softmax = Odd()\n"
    ),
    "every case raises the expected error": (
        "def softmax(scores): raise ValueError('as you like it')\n"
    ),
    "NaN is returned everywhere": "def softmax(scores): return scores * float('nan')\n",
    "a result cannot be read": (
        "class Bad(list):\n"
        "    def __len__(self): return 10**18\n"
        "    def __iter__(self): raise SystemExit\n"
        "def softmax(scores): return Bad([1])\n"
    ),
    "a result is a generator, a function, a module": (
        "results = [iter([1]), len, __import__('math'), object(), {1: 2}, 1j, b'x']\n"
        "def softmax(scores):\n"
        "    results.append(results.pop(0))\n"
        "    return results[-1]\n"
    ),
    "a result is nested too deep or contains itself": (
        "def softmax(scores):\n    loop = []\n    loop.append(loop)\n    return loop\n"
    ),
    "an exception fails to print and claims to be another": (
        "class Mine(ValueError):\n"
        "    def __str__(self): raise SystemExit\n"
        "    __class__ = property(lambda self: KeyError)\n"
        "Mine.__name__ = 'ValueError'\n"
        "def softmax(scores): raise Mine\n"
    ),
    "the answer holds null bytes and half characters": (
        "x = '\x00'\ny = '\\ud800'\nprint('\\ud800')\n" + WRONG
    ),
    "a notebook of its own is run": (
        "import nbformat, subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'print(32)'])\n" + WRONG
    ),
}

# Answers that call what they should build, in the chapter on the transformer. Without
# anybody who looks, each earns points.
CALLS_TOPIC, CALLS_EXERCISE = "transformer", "EncoderLayer"
_HEAD = (
    "import copy\nimport torch.nn.functional as F\nfrom torch import nn\n"
    "def turned(mask): return None if mask is None else ~mask\n"
)
_SIGNATURE = (
    "    def __init__(self, d_model, num_heads, d_ff, norm_first=False,\n"
    "                 activation=F.relu, eps=1e-5):\n"
)
_SIZES = "d_model, num_heads, d_ff, 0.0, activation, eps, True, norm_first"
_FORWARD = "    def forward(self, x, mask=None, padding_mask=None):\n"
_MASKS = "turned(mask), turned(padding_mask)"
CALLS_WRONG = (
    f"{_HEAD}class EncoderLayer(nn.Module):\n{_SIGNATURE}"
    f"        super().__init__()\n{_FORWARD}        return x\n"
)
CALLS = {
    "by another name": (
        f"{_HEAD}Theirs = vars(nn)['reyaLredocnEremrofsnarT'[::-1]]\n"
        f"class EncoderLayer(Theirs):\n{_SIGNATURE}"
        f"        super().__init__({_SIZES})\n"
        f"{_FORWARD}        return super().forward(x, {_MASKS})\n"
    ),
    "in a layer that was made before": (
        f"{_HEAD}Theirs = getattr(nn, 'Transformer' + 'EncoderLayer')\n"
        "made = {(6, 2, 10): Theirs(6, 2, 10, 0.0, batch_first=True),\n"
        "        (6, 2, 7): Theirs(6, 2, 7, 0.0, batch_first=True)}\n"
        f"class EncoderLayer(Theirs):\n{_SIGNATURE}"
        "        nn.Module.__init__(self)\n"
        "        layer = copy.deepcopy(made[d_model, num_heads, d_ff])\n"
        "        self.__dict__.update(layer.__dict__)\n"
        f"{_FORWARD}        return super().forward(x, {_MASKS})\n"
    ),
    "and caught what refuses": (
        f"{_HEAD}class EncoderLayer(nn.TransformerEncoderLayer):\n{_SIGNATURE}"
        f"        try: super().__init__({_SIZES})\n"
        "        except BaseException: nn.Module.__init__(self)\n"
        f"{_FORWARD}        try: return super().forward(x, {_MASKS})\n"
        "        except BaseException: return x\n"
    ),
}
