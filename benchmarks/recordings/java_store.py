"""A small store in Java: Maven, JUnit, the compiler and exceptions with their causes."""

from __future__ import annotations

from pathlib import Path

POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>store</artifactId>
  <version>2.1.0</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.junit.jupiter</groupId>
      <artifactId>junit-jupiter</artifactId>
      <version>5.10.2</version>
      <scope>test</scope>
    </dependency>EXTRA
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-surefire-plugin</artifactId>
        <version>3.2.5</version>
      </plugin>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-resources-plugin</artifactId>
        <version>3.3.1</version>
      </plugin>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>3.14.1</version>
      </plugin>
    </plugins>
  </build>
</project>
"""
STORE = """package org.example.store;

import java.util.HashMap;
import java.util.Map;

/** Keeps how many of each article are there. */
public class Store {
    private final Map<String, Integer> amounts = new HashMap<>();

    public void put(String sku, int amount) {
        amounts.merge(sku, amount, Integer::sum);
    }

    public int take(String sku, int amount) throws StoreException {
        try {
            int left = amounts.get(sku) - amount;
            amounts.put(sku, left);
            return left;
        } catch (NullPointerException e) {
            throw new StoreException("article " + sku + " is not kept here", e);
        }
    }

    public int size() {
        return amounts.size();
    }
METHODS

    public static class StoreException extends Exception {
        public StoreException(String message, Throwable cause) {
            super(message, cause);
        }
    }
}
"""
MAIN = """package org.example.store;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Main {
    static void ship(Store store, int order) {
        try {
            store.take("SKU-" + order, 1);
            System.out.printf("order %04d shipped from shelf %d%n", order, order % 9);
        } catch (Store.StoreException e) {
            throw new IllegalStateException("order " + order + " cannot be shipped", e);
        }
    }

    public static void main(String[] args) throws Exception {
        Store store = new Store();
        for (int n = 0; n < 130; n++) store.put("SKU-" + n, 5);
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try {
            for (int n = 0; n < 200; n++) {
                int order = n;
                Future<?> future = pool.submit(() -> ship(store, order));
                future.get();
            }
        } finally {
            pool.shutdown();
        }
    }
}
"""
TEST = """package org.example.store;

import static org.junit.jupiter.api.Assertions.*;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StoreTest {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987})
    void keepsAmounts(int amount) throws Exception {
        Store store = new Store();
        store.put("a", amount);
        assertEquals(0, store.take("a", amount));
    }

    @Test
    void neverGoesBelowZero() throws Exception {
        Store store = new Store();
        store.put("a", 2);
        assertEquals(0, store.take("a", 5), "a shelf cannot owe articles");
    }

    @Test
    void namesTheMissingArticle() {
        var error = assertThrows(Store.StoreException.class, () -> new Store().take("b", 1));
        assertEquals("no article b", error.getMessage());
    }

    @Test
    void countsArticles() {
        Store store = null;
        assertEquals(0, store.size());
    }
}
"""
BROKEN = """package org.example.store;

import java.util.List;
import org.apache.commons.lang3.StringUtils;

public class Report {
    private final List<String> lines;

    public String title(Store store) {
        return StringUtils.capitalize(store.name());
    }

    public int total(List<Integer> amounts) {
        int sum = 0;
        for (String amount : amounts) {
            sum += amount;
        }
    }

    public void print() {
        String text = 42;
        System.out.println(txt);
        new Store().take("a", 1);
    }
}
"""


STORE = STORE.replace(
    "METHODS",
    "".join(
        f"""
    /** Moves articles to shelf {n}, and returns how many are left. */
    public int moveToShelf{n:02}(String sku, int amount) throws StoreException {{
        int left = take(sku, amount);
        put("shelf-{n:02}/" + sku, amount);
        return left;
    }}
"""
        for n in range(30)
    ),
)


def java_store(folder: Path) -> None:
    source = "src/main/java/org/example/store"
    files = {
        "pom.xml": POM.replace("EXTRA", ""),
        "pom-missing.xml": POM.replace(
            "EXTRA",
            "\n    <dependency>\n      <groupId>org.example.tools</groupId>\n"
            "      <artifactId>frobnicator</artifactId>\n      <version>9.1</version>\n    </dependency>",
        ),
        f"{source}/Store.java": STORE,
        f"{source}/Main.java": MAIN,
        "src/test/java/org/example/store/StoreTest.java": TEST,
        "broken/Report.java": BROKEN,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
