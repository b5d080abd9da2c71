"""Texts of many kinds, whose tokens tests count."""

from __future__ import annotations

import base64
import hashlib
import json


def noise(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


def code_line(number: int) -> str:
    return (
        f"    def load_part_{number}(self, path: Path) -> dict[str, int]:\n"
        f'        """Read one part and return how often each key occurs."""\n'
        f"        if not path.exists():\n            raise FileNotFoundError(path)\n"
        f"        return self._countKeys(path.read_text(), limit={number})\n\n"
    )


def log_line(number: int) -> str:
    return (
        f"2025-03-{number % 28 + 1:02d}T10:{number % 60:02d}:07.{number * 37 % 1000:03d}Z INFO "
        f"[worker-{number}] request {noise(number).hex()[:16]} completed in {number * 13}ms\n"
    )


PROSE = (
    "The library keeps every version of a conversation, so that nothing an agent has seen is "
    "lost when its window is shortened. A reader can go back to any earlier point, compare two "
    "branches, and find out why the model answered the way it did. It doesn't need a server; "
    "a single file on the local disk is enough for most people.\n"
)
CHINESE = (
    "这个程序库保存对话的每一个版本,因此缩短上下文时不会丢失任何内容。"
    "读者可以回到以前的任何时刻。\n"
)
JAPANESE = (
    "このライブラリは会話のすべての版を保存します。読者はいつでも以前の時点に戻ることができます。\n"
)
KOREAN = (
    "이 라이브러리는 대화의 모든 버전을 저장합니다. "
    "독자는 언제든지 이전 시점으로 돌아갈 수 있습니다.\n"
)

SAMPLES = {
    "prose": PROSE * 3,
    "code": "".join(code_line(n) for n in range(8)),
    "json": json.dumps(
        [
            {"id": n, "name": f"item {n}", "tags": ["new", "large"], "price": n / 8}
            for n in range(20)
        ]
    ),
    "json indented": json.dumps([{"path": "src/main.py", "line": n} for n in range(20)], indent=2),
    "log": "".join(log_line(n) for n in range(20)),
    "grep": "".join(f"src/tract/part_{n}.py:{n * 7}:    return parse({n})\n" for n in range(20)),
    "base64": base64.b64encode(b"".join(noise(n) for n in range(30))).decode(),
    "hex": b"".join(noise(n) for n in range(20)).hex(),
    "chinese": CHINESE * 5,
    "japanese": JAPANESE * 5,
    "korean": KOREAN * 5,
    "emoji": "".join(f"🧪🚦🪐 step {n} 🥁 done 🦉\n" for n in range(20)),
    "whitespace": "".join(f"{'':{n % 6 * 8}}end\n\n" for n in range(40)),
    "numbers": "\n".join(f"{n * n * 7919},{n * 0.37:.4f},-{n * 31}" for n in range(1, 40)),
}

UNSAMPLED = 65_536
"""The longest text of which each character is looked at."""

ENDLESS = ["a", "A", " ", "\n", "=", "0", "\0", "中", "😀", "\u0301"]
ENDLESS += ["aB", " \n", "a1", "é", "\ud800"]
