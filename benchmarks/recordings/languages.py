"""Compiled languages: builds that fail, tests that fail, and programs that crash."""

from __future__ import annotations

from pathlib import Path

from benchmarks.recordings.java_store import java_store
from benchmarks.recordings.recipe import (
    CLAUDE,
    CODEX,
    EXEC,
    PLAIN,
    STREAMS,
    SWE,
    read,
    shell,
)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


# Rust

LEDGER_RS = """//! Accounts and transfers between them.

use std::collections::HashMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    pub owner: String,
    pub cents: i64,
}

#[derive(Debug, PartialEq)]
pub enum TransferError {
    Unknown(String),
    TooLittle { wanted: i64, left: i64 },
}

impl fmt::Display for TransferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransferError::Unknown(name) => write!(f, "no account of {name}"),
            TransferError::TooLittle { wanted, left } => write!(f, "{wanted} wanted, {left} left"),
        }
    }
}

#[derive(Default)]
pub struct Ledger {
    accounts: HashMap<String, Account>,
}

impl Ledger {
    pub fn open(&mut self, owner: &str, cents: i64) {
        let account = Account { owner: owner.to_string(), cents };
        self.accounts.insert(owner.to_string(), account);
    }

    pub fn balance(&self, owner: &str) -> i64 {
        self.accounts[owner].cents
    }

    pub fn transfer(&mut self, from: &str, to: &str, cents: i64) -> Result<(), TransferError> {
        let left = self.accounts.get(from).ok_or(TransferError::Unknown(from.to_string()))?.cents;
        if left < cents {
            return Err(TransferError::TooLittle { wanted: cents, left });
        }
        self.accounts.get_mut(from).unwrap().cents -= cents;
        self.accounts.get_mut(to).unwrap().cents += cents;
        Ok(())
    }

    pub fn fee(&self, cents: i64) -> i64 {
        cents / 100
    }
}
"""
LEDGER_TESTS = "".join(
    f"""
    #[test]
    fn opens_account_{n:02}() {{
        let mut ledger = Ledger::default();
        ledger.open("owner-{n}", {n});
        assert_eq!(ledger.balance("owner-{n}"), {n});
    }}
"""
    for n in range(160)
)
LEDGER_TESTS = f"""
#[cfg(test)]
mod tests {{
    use super::*;
{LEDGER_TESTS}
    #[test]
    fn fees_are_rounded_up() {{
        assert_eq!(Ledger::default().fee(250), 3, "a fee is never rounded down");
    }}

    #[test]
    fn a_transfer_to_nobody_is_refused() {{
        let mut ledger = Ledger::default();
        ledger.open("ann", 500);
        assert_eq!(ledger.transfer("ann", "nobody", 100), Err(TransferError::Unknown("nobody".into())));
    }}

    #[test]
    #[ignore = "needs the archive"]
    fn archives_are_read() {{}}
}}
"""
MAIN_RS = """use ledger::Ledger;

fn settle(ledger: &mut Ledger, names: &[&str]) {
    for pair in names.windows(2) {
        println!("settling {} -> {}", pair[0], pair[1]);
        ledger.transfer(pair[0], pair[1], 10).unwrap();
    }
}

fn main() {
    let mut ledger = Ledger::default();
    let names: Vec<String> = (0..240).map(|n| format!("owner-{n}")).collect();
    for name in &names[..239] {
        ledger.open(name, 100);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    settle(&mut ledger, &names);
}
"""
BROKEN_RS = """use std::collections::HashMap;

pub struct Report {
    rows: Vec<String>,
    totals: HashMap<String, i64>,
}

impl Report {
    pub fn longest(&self) -> &str {
        let mut best = "";
        for row in self.rows {
            if row.len() > best.len() {
                best = &row;
            }
        }
        best
    }

    pub fn add(&self, name: String, cents: i64) {
        self.totals.insert(name, cents);
        println!("{name} added");
    }

    pub fn total(&self) -> i64 {
        self.totals.values().sum::<f64>()
    }

    pub fn print(&self) {
        let unused = 3;
        for (name, cents) in self.total {
            println!("{name}: {}", cents.format());
        }
    }
}
"""


def rust_ledger(folder: Path) -> None:
    write(
        folder,
        {
            "Cargo.toml": '[package]\nname = "ledger"\nversion = "0.3.0"\nedition = "2021"\n',
            "src/lib.rs": LEDGER_RS + LEDGER_TESTS,
            "src/main.rs": MAIN_RS,
            "report.rs": BROKEN_RS,
        },
    )


RUST = (
    shell("cargo-test", "cargo-test", rust_ledger, "cargo test", CLAUDE),
    shell("cargo-test-codex", "cargo-test", rust_ledger, "RUST_BACKTRACE=1 cargo test --lib", EXEC),
    shell("cargo-run-panic", "rust-panic", rust_ledger, "RUST_BACKTRACE=full cargo run", STREAMS),
    shell("cargo-run-panic-short", "rust-panic", rust_ledger, "cargo run --quiet", CLAUDE),
    shell(
        "cargo-build-errors",
        "cargo-build",
        rust_ledger,
        "cp report.rs src/report.rs && sed -i '1a pub mod report;' src/lib.rs && cargo build",
        CLAUDE,
    ),
    shell(
        "cargo-check-short", "cargo-build", rust_ledger, "cargo check --message-format=short", SWE
    ),
    shell("cargo-json", "json-lines", rust_ledger, "cargo check --message-format=json", CODEX),
    shell(
        "cargo-missing-crate",
        "cargo-build",
        rust_ledger,
        "printf '\\n[dependencies]\\nledger-core = { path = \"../ledger-core\" }\\n' >> Cargo.toml; cargo build",
        CLAUDE,
    ),
    read("read-rust", "source-rust", rust_ledger, "src/lib.rs", PLAIN),
    shell(
        "rustc-explain",
        "help",
        rust_ledger,
        "rustc --explain E0502 E0382; rustc --explain E0277",
        CLAUDE,
    ),
)

# Go

CACHE_GO = """// Package cache keeps values for a while.
package cache

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrMissing says that a key is not there.
var ErrMissing = errors.New("cache: missing")

type entry struct {
	value   string
	expires time.Time
}

// Cache is safe for use by many goroutines.
type Cache struct {
	mu      sync.Mutex
	entries map[string]entry
	now     func() time.Time
}

// New returns an empty cache.
func New() *Cache {
	return &Cache{entries: map[string]entry{}, now: time.Now}
}

// Put keeps a value.
func (c *Cache) Put(key, value string, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[key] = entry{value, c.now().Add(ttl)}
}

// Get returns a value, or ErrMissing.
func (c *Cache) Get(key string) (string, error) {
	found, ok := c.entries[key]
	if !ok {
		return "", ErrMissing
	}
	if found.expires.Before(c.now()) {
		return "", fmt.Errorf("cache: %q expired", key)
	}
	return found.value, nil
}
"""
CACHE_TEST_GO = """package cache

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestKeys(t *testing.T) {
	c := New()
	for n := 0; n < 90; n++ {
		key := fmt.Sprintf("key-%02d", n)
		t.Run(key, func(t *testing.T) {
			c.Put(key, "v", time.Minute)
			if got, err := c.Get(key); err != nil || got != "v" {
				t.Fatalf("Get(%q) = %q, %v", key, got, err)
			}
		})
	}
}

func TestExpired(t *testing.T) {
	c := New()
	c.Put("old", "v", -time.Second)
	_, err := c.Get("old")
	if !errors.Is(err, ErrMissing) {
		t.Errorf("an expired key: got %v, want %v", err, ErrMissing)
	}
}

func TestEmptyKey(t *testing.T) {
	c := New()
	c.Put("", "v", time.Minute)
	if _, err := c.Get(""); err == nil {
		t.Error("an empty key was accepted")
	}
}

func TestNil(t *testing.T) {
	var c *Cache
	c.Put("a", "b", time.Second)
}
"""
MAIN_GO = """package main

import (
	"fmt"
	"sync"

	"example.org/cache/cache"
)

func load(c *cache.Cache, keys []string) string {
	fmt.Println("loading", keys[0])
	if len(keys) == 1 {
		return keys[7]
	}
	return load(c, keys[1:])
}

func main() {
	var group sync.WaitGroup
	keys := make([]string, 64)
	for n := range keys {
		keys[n] = fmt.Sprintf("article-%03d", n)
	}
	group.Add(1)
	go func() {
		defer group.Done()
		fmt.Println(load(cache.New(), keys))
	}()
	group.Wait()
}
"""
DEADLOCK_GO = """package main

import (
	"fmt"
	"sync"
)

func main() {
	var mu sync.Mutex
	results := make(chan int)
	for n := 0; n < 40; n++ {
		go func(n int) {
			mu.Lock()
			results <- n
		}(n)
	}
	fmt.Println(<-results)
	fmt.Println(<-results)
}
"""
RACE_GO = """package main

import (
	"fmt"
	"sync"
)

type counter struct{ hits map[string]int }

func (c *counter) add(key string) {
	c.hits[key]++
}

func main() {
	var group sync.WaitGroup
	shared := &counter{hits: map[string]int{}}
	for n := 0; n < 2; n++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			for i := 0; i < 100; i++ {
				shared.add("home")
			}
		}(n)
	}
	group.Wait()
	fmt.Println(shared.hits["home"])
}
"""
BROKEN_GO = """package report

import (
	"fmt"
	"os"
	"strings"
)

type Row struct {
	Name  string
	Cents int64
}

func Total(rows []Row) int {
	sum := 0
	for _, row := range rows {
		sum += row.Cents
	}
	return sum
}

func Print(rows []Row) error {
	for i, row := range rows {
		fmt.Printf("%d %s\\n", row.Name, row.Total)
	}
	return "done"
}

func Names(rows []Row) []string {
	var names []string
	for _, row := range rows {
		names = names.append(row.name)
	}
}
"""
VET_GO = """package audit

import (
	"fmt"
	"sync"
)

type Log struct {
	sync.Mutex
	Lines []string `json:lines`
}

func Copy(log Log) Log {
	fmt.Printf("%d lines in %s\\n", "x", len(log.Lines), 3)
	return log
}

func Wait() {
	return
	fmt.Println("never")
}
"""


def go_cache(folder: Path) -> None:
    write(
        folder,
        {
            "go.mod": "module example.org/cache\n\ngo 1.19\n",
            "cache/cache.go": CACHE_GO,
            "cache/cache_test.go": CACHE_TEST_GO,
            "cmd/load/main.go": MAIN_GO,
            "cmd/deadlock/main.go": DEADLOCK_GO,
            "cmd/race/main.go": RACE_GO,
            "report/report.go": BROKEN_GO,
            "audit/audit.go": VET_GO,
            "web/web.go": 'package web\n\nimport "example.net/nowhere/router"\n\nvar R = router.New()\n',
        },
    )


GO = (
    shell("go-test-verbose", "go-test", go_cache, "go test -v ./cache", CLAUDE),
    shell(
        "go-test-run",
        "go-test",
        go_cache,
        "go test -v -run 'Keys|Expired|Empty' ./cache ./cmd/...",
        EXEC,
    ),
    shell(
        "go-test-json",
        "json-lines",
        go_cache,
        "go test -json -run 'Keys|Expired|Empty' ./cache",
        CLAUDE,
    ),
    shell("go-build", "go-build", go_cache, "go build ./report ./cache ./audit", CLAUDE),
    shell("go-missing-module", "go-build", go_cache, "go build ./web", CODEX),
    shell("go-vet", "go-build", go_cache, "go vet ./audit ./cache ./cmd/...", STREAMS),
    shell("go-panic", "go-panic", go_cache, "go run ./cmd/load", CLAUDE),
    shell("go-deadlock", "go-panic", go_cache, "go run ./cmd/deadlock", EXEC),
    shell("go-race", "go-panic", go_cache, "CGO_ENABLED=1 go run -race ./cmd/race", SWE),
    shell("go-doc", "help", go_cache, "go doc -all strings", CLAUDE),
    shell("go-list-json", "json-nested", go_cache, "go list -json ./cache ./audit", PLAIN),
)

# C

ENGINE_C = """#include "engine.h"
#include <stdio.h>

static int counter;

int engine_start(struct engine *engine) {
    engine->speed = 0;
    engine->nmae = "main";
    return engine_check(engine, 3);
}

char *engine_name(const struct engine *engine) {
    return engine->name;
}

void engine_stop(struct engine *engine) {
    int left = 10
    while (left--) engine->speed -= 1;
    return counter;
}
"""


def c_engine(folder: Path) -> None:
    parts = {
        f"src/part{n:02}.c": f'#include "engine.h"\n\nint part{n:02}(struct engine *e) {{\n    int unused{n};\n    unsigned wide = {n};\n    if (e->speed < wide) return {n};\n    return 0;\n}}\n'
        for n in range(24)
    }
    objects = " ".join(f"src/part{n:02}.o" for n in range(24))
    write(
        folder,
        {
            "include/engine.h": "#pragma once\nstruct engine { int speed; const char *name; };\nint engine_start(struct engine *);\nint engine_weld(struct engine *);\n",
            "src/engine.c": ENGINE_C,
            "src/main.c": '#include "engine.h"\nint part03(struct engine *);\nint main(void) {\n    struct engine e = {0, "e"};\n    return engine_weld(&e) + part03(&e);\n}\n',
            "Makefile": f"CFLAGS = -Wall -Wextra -Iinclude\nOBJECTS = {objects} src/engine.o src/main.o\n\nengine: $(OBJECTS)\n\t$(CC) -o $@ $^\n",
            "CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(engine C)\nfind_package(ZLIB REQUIRED)\nfind_package(Frobnicate 2.1 REQUIRED)\nadd_executable(engine src/main.c)\ntarget_link_libraries(engine ZLIB::ZLIB Frobnicate::core)\n",
            "big.cpp": "#include <map>\n#include <string>\n#include <vector>\n#include <algorithm>\nstruct Key { int a; };\nint main() {\n    std::map<Key, std::vector<std::string>> m;\n    m[Key{1}].push_back(3.5);\n    std::vector<Key> v;\n    std::sort(v.begin(), v.end());\n    return 0;\n}\n",
            **parts,
        },
    )


C = (
    shell("make-errors", "make", c_engine, "make", CLAUDE),
    shell(
        "make-keep-going",
        "make",
        c_engine,
        "make clean 2>/dev/null; rm -f src/*.o; make -k -j2",
        EXEC,
    ),
    shell(
        "link-error",
        "make",
        c_engine,
        "gcc -Wall -Wextra -Iinclude src/part*.c src/main.c -o engine",
        STREAMS,
    ),
    shell("gcc-errors", "gcc", c_engine, "gcc -Iinclude -c src/engine.c", CLAUDE),
    shell("gpp-templates", "gcc", c_engine, "g++ -std=c++17 -c big.cpp", CLAUDE),
    shell("cmake-missing", "cmake", c_engine, "cmake -S . -B build", CODEX),
    shell(
        "cmake-trace",
        "cmake",
        c_engine,
        "cmake -S . -B build2 --log-level=VERBOSE --debug-find-pkg=Frobnicate",
        CLAUDE,
    ),
)

# Java

_SOURCES = "src/main/java/org/example/store"
JAVA = (
    shell("maven-test", "junit", java_store, "mvn -o -B -Dstyle.color=never test", CLAUDE),
    shell(
        "surefire-report",
        "junit-xml",
        java_store,
        "cat target/surefire-reports/TEST-org.example.store.StoreTest.xml",
        CODEX,
    ),
    shell(
        "maven-compile",
        "javac",
        java_store,
        f"cp broken/Report.java {_SOURCES}/ && mvn -o -B -Dstyle.color=never compile; rc=$?; rm {_SOURCES}/Report.java; exit $rc",
        CODEX,
    ),
    shell(
        "maven-missing",
        "maven",
        java_store,
        "mvn -o -B -Dstyle.color=never -f pom-missing.xml test",
        CLAUDE,
    ),
    shell("maven-debug", "maven", java_store, "mvn -o -B -Dstyle.color=never -X test", STREAMS),
    shell(
        "javac",
        "javac",
        java_store,
        f"mkdir -p out && javac -d out {_SOURCES}/*.java broken/Report.java",
        CLAUDE,
    ),
    shell(
        "java-exception",
        "java-exception",
        java_store,
        f"mkdir -p out && javac -d out {_SOURCES}/*.java && java -cp out org.example.store.Main",
        CLAUDE,
    ),
    shell(
        "java-exception-streams",
        "java-exception",
        java_store,
        "java -cp out org.example.store.Main",
        STREAMS,
    ),
    shell(
        "javap", "disassembly", java_store, "javap -c -p -cp out org.example.store.Store", CLAUDE
    ),
    read("read-java", "source-java", java_store, f"{_SOURCES}/Store.java", PLAIN),
    shell(
        "java-help", "help", java_store, "java --help-extra; java --help; javac --help-lint", CLAUDE
    ),
)
RECIPES = RUST + GO + C + JAVA
