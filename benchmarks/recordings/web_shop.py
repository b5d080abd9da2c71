"""A small shop in JavaScript and TypeScript, with mistakes in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

CART_JS = """'use strict';

class Cart {
  constructor() {
    this.items = new Map();
  }

  add(sku, amount = 1) {
    if (!Number.isInteger(amount)) throw new TypeError(`amount must be whole: ${amount}`);
    this.items.set(sku, (this.items.get(sku) || 0) + amount);
    return this;
  }

  total(prices) {
    let total = 0;
    for (const [sku, amount] of this.items) total += prices[sku] * amount;
    return total;
  }

  describe() {
    return { items: [...this.items.entries()], count: this.items.size };
  }
}

module.exports = { Cart };
"""
CART_TEST = """const { Cart } = require('./cart');

describe('Cart', () => {
  for (let n = 0; n < 180; n++) {
    it(`adds article ${n} to an empty cart, once`, () => {
      ASSERT_COUNT(new Cart().add(`SKU-${n}`).describe().count, 1);
    });
  }

  it('adds up decimal prices', () => {
    const cart = new Cart().add('a', 3);
    ASSERT_EQUAL(cart.total({ a: 0.1 }), 0.3);
  });

  it('describes its items', () => {
    const cart = new Cart().add('a').add('b', 2);
    ASSERT_EQUAL(cart.describe(), { items: [['a', 1], ['b', 3]], count: 2 });
  });

  it('refuses unknown articles', () => {
    ASSERT_THROWS(() => new Cart().add('x').total({}), /unknown article/);
  });
});
"""


def _cart_test(equal: str, throws: str, head: str) -> str:
    text = CART_TEST.replace("ASSERT_COUNT", equal).replace("ASSERT_EQUAL", equal)
    return head + text.replace("ASSERT_THROWS", throws)


JEST_TEST = (
    CART_TEST.replace(
        "ASSERT_COUNT(new Cart().add(`SKU-${n}`).describe().count, 1)",
        "expect(new Cart().add(`SKU-${n}`).describe().count).toBe(1)",
    )
    .replace(
        "ASSERT_EQUAL(cart.total({ a: 0.1 }), 0.3)", "expect(cart.total({ a: 0.1 })).toBe(0.3)"
    )
    .replace(
        "ASSERT_EQUAL(cart.describe(), { items: [['a', 1], ['b', 3]], count: 2 })",
        "expect(cart.describe()).toEqual({ items: [['a', 1], ['b', 3]], count: 2 })",
    )
    .replace(
        "ASSERT_THROWS(() => new Cart().add('x').total({}), /unknown article/)",
        "expect(() => new Cart().add('x').total({})).toThrow(/unknown article/)",
    )
)
MOCHA_TEST = _cart_test(
    "assert.deepStrictEqual", "assert.throws", "const assert = require('assert');\n"
)
NODE_TEST = _cart_test(
    "assert.deepStrictEqual",
    "assert.throws",
    "const assert = require('node:assert');\nconst { describe, it } = require('node:test');\n",
)
VITEST_TEST = "import { describe, it, expect } from 'vitest';\n" + JEST_TEST.replace(
    "const { Cart } = require('./cart');", "import { Cart } from './cart.js';"
)
SERVER_JS = """const { Cart } = require('./src/cart');

const prices = new Proxy({}, { get: () => 1.25 });

async function checkout(order) {
  const cart = new Cart();
  for (const line of order.lines) cart.add(line.sku, line.amount);
  return cart.total(prices);
}

async function main() {
  for (let n = 0; n < 150; n++) {
    const order = { id: n, lines: n === 120 ? [{ sku: 'SKU-9', amount: 1.5 }] : [{ sku: `SKU-${n}`, amount: 2 }] };
    console.log(`[checkout] order ${String(n).padStart(4, '0')} total ${await checkout(order)}`);
  }
}

main().catch((error) => {
  throw new Error('checkout failed', { cause: error });
});
"""
API_TS = """export interface Article {
  sku: string;
  title: string;
  cents: number;
  tags?: string[];
}

export class Catalog {
  private articles: Map<string, Article> = new Map();

  put(article: Article): void {
    this.articles.set(article.sku, article.cents);
  }

  find(sku: string): Article {
    return this.articles.get(sku);
  }

  titles(): string[] {
    return [...this.articles.values()].map((article) => article.name);
  }

  cheapest(): Article | undefined {
    return [...this.articles.values()].sort((a, b) => a.cents - b.cents).at(0);
  }
}

export function tagged(articles: Article[], tag: string): Article[] {
  return articles.filter((article) => article.tags.includes(tag));
}
"""


def _view(n: int) -> str:
    return (
        f"import {{ Catalog, Article }} from './catalog';\n\n"
        f"export function view{n}(catalog: Catalog, article: Article): string {{\n"
        f"  var label = article.title.toUppercase();\n"
        f"  const price: string = article.cents / 100;\n"
        f"  if (label == null) debugger;\n"
        f"  return catalog.find(article.sku, {n}).title + labell;\n"
        f"}}\n"
    )


ESLINT = """module.exports = {
  root: true,
  env: { node: true, es2022: true },
  extends: 'eslint:recommended',
  parserOptions: { ecmaVersion: 2022 },
  rules: { 'no-var': 'error', eqeqeq: 'error', 'prefer-const': 'warn', 'no-console': 'warn' },
};
"""


def _legacy(n: int) -> str:
    return (
        f"var fs = require('fs');\nvar cache{n} = {{}};\n\nfunction load{n}(name) {{\n"
        f"  let path = './data/' + name;\n  if (cache{n}[name] == undefined) {{\n"
        f"    console.log('miss', nmae);\n    cache{n}[name] = path;\n  }}\n  return path;\n}}\n"
    )


def web_shop(folder: Path) -> None:
    files = {
        "package.json": '{"name": "web-shop", "version": "1.4.0", "private": true}\n',
        "src/cart.js": CART_JS,
        "jest/cart.js": CART_JS,
        "jest/cart.test.js": JEST_TEST,
        "mocha/cart.js": CART_JS,
        "mocha/cart.spec.js": MOCHA_TEST,
        "node/cart.js": CART_JS,
        "node/cart.test.js": NODE_TEST,
        "vitest/cart.js": CART_JS.replace("module.exports =", "export"),
        "vitest/cart.test.js": VITEST_TEST,
        "vitest/package.json": '{"type": "module"}\n',
        "server.js": SERVER_JS,
        "ts/catalog.ts": API_TS,
        "tsconfig.json": '{"compilerOptions": {"strict": true, "target": "es2022", "noEmit": true, "types": []}, "include": ["ts"]}\n',
        ".eslintrc.js": ESLINT,
        **{f"ts/view{n}.ts": _view(n) for n in range(24)},
        **{f"legacy/load{n}.js": _legacy(n) for n in range(15)},
        "bad/package.json": '{"name": "bad", "version": "1.0.0", "dependencies": {"express": "^4.18.0", "left-padder-pro-max": "^3.0.0"}}\n',
        "peer/package.json": '{"name": "peer", "version": "1.0.0", "dependencies": {"react": "^16.14.0", "react-dom": "^18.2.0"}}\n',
        "audit/package.json": '{"name": "audit", "version": "1.0.0", "dependencies": {"lodash": "4.17.4", "minimist": "0.0.8", "axios": "0.18.0", "handlebars": "4.0.0", "request": "2.88.0"}}\n',
        "script/package.json": '{"name": "script", "version": "2.0.0", "scripts": {"build": "node build.js", "prebuild": "node assets.js"}}\n',
        "script/assets.js": "for (let i = 0; i < 160; i++) console.log(`asset ${i}: app-${i}.chunk.js emitted ${i * 13} KB, error-page-${i}.html ok`);\n",
        "script/build.js": "const config = require('./webpack.config.prod');\nconsole.log(config);\n",
        "webpack/index.js": "import { render } from './render';\nimport frobnicate from 'frobnicate-lite';\nrender(frobnicate);\n",
        "webpack/render.js": "export const render = (x) => { document.body.textContent = x };\n"
        + "".join(f"export const part{n} = () => 'part {n}';\n" for n in range(80)),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "node_modules").symlink_to(
        Path(tempfile.gettempdir()) / "tract-recordings/node/node_modules"
    )
