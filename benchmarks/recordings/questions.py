"""What a model that made the call would want to know of its output, and how the answer reads."""

from __future__ import annotations

from benchmarks.recordings.patterns import count, exit_code, location, near, number, together

Questions = dict[str, str]

TESTS: dict[str, Questions] = {
    "pytest-verbose": {
        "how many failed": count(6, "failed|failures"),
        "what the coupon test got": together("test_the_coupon_takes_ten_percent", r"24\.25"),
        "which article has no price": r"test_all_skus_are_priced.{0,200}SKU-120|KeyError.{0,4}SKU-120",
        "why the warehouse does not open": "unable to open database file",
    },
    "pytest-quiet": {
        "how many failed": count(6, "failed|failures"),
        "which constraint failed": r"UNIQUE constraint failed: stock\.sku",
        "where the coupon test fails": location("tests/test_orders.py", 21),
    },
    "pytest-short": {
        "how many failed": count(6, "failed|failures"),
        "which test has an error in its setup": "test_the_warehouse_opens",
        "where the price is missing": location("shop/prices.py", 18),
        "what the coupon test got and wanted": together(r"24\.25", r"23\.625"),
    },
    "pytest-long-locals": {
        "how many failed and passed": together(count(4, "failed"), count(59, "passed")),
        "what the rounding gives": r"'1\.0' == '1\.01'|'2\.5' == '2\.50'|'4\.0' == '4\.00'",
        "which test fails with a KeyError": r"test_all_skus_are_priced.{0,80}KeyError|KeyError.{0,20}SKU-120",
    },
    "pytest-import-error": {
        "which module is missing": r"No module named .redis_lock",
        "where it is imported": location("tests/test_lock.py", 1),
        "exit code": exit_code(2),
    },
    "pytest-passes": {
        "how many passed": count(92, "passed"),
        "whether all passed": r"92 passed|all passed|no failures|0 failed",
        "how many were left out": count(1, "deselected"),
    },
    "pytest-junit": {
        "how many failures": count(6, "failures|failed"),
        "how many tests": count(161, "tests?"),
        "a failing test and why": r"24\.25|SKU-120|unable to open database|UNIQUE constraint|'1\.0' == '1\.01'",
    },
}
TRACEBACKS: dict[str, Questions] = {
    "traceback-chained": {
        "the last exception": r"ImportFailed: prices\.jsonl: import stopped",
        "which record": "record 117 has no price",
        "the first cause": "KeyError: 'price'",
        "where it began": location("import_prices.py", 19),
    },
    "traceback-streams": {
        "the last exception": r"ImportFailed: prices\.jsonl: import stopped",
        "the first cause": "KeyError: 'price'",
        "exit code": exit_code(1),
    },
    "traceback-recursion": {
        "which exception": "RecursionError: maximum recursion depth exceeded",
        "in which line": location("recurse.py", 5),
        "exit code": exit_code(1),
    },
    "traceback-group": {
        "how many exceptions": count(2, "sub-exceptions|exceptions|errors"),
        "which connection error": "Connection reset by peer",
        "which article timed out": "article 41 took longer",
    },
    "traceback-syntax": {
        "what is wrong": "SyntaxError: invalid syntax",
        "where": location("broken.py", 1),
        "exit code": exit_code(1),
    },
}
CHECKS: dict[str, Questions] = {
    "mypy": {
        "how many errors": count(29, "errors?"),
        "the wrong attribute": r'"Line" has no attribute "name"',
        "where operands do not fit": location("shop/report.py", 16),
    },
    "ruff": {
        "how many errors": count(165, "errors?|findings|problems"),
        "which file does not parse": r"invalid-syntax.{0,120}broken\.py|broken\.py.{0,120}invalid-syntax|broken\.py:1:1[01]",
        "exit code": exit_code(1),
    },
    "ruff-concise": {
        "how many errors": count(165, "errors?|findings|problems"),
        "where the syntax is wrong": r"broken\.py:1:1[01].{0,20}invalid-syntax",
        "how many can be fixed": r"3 fixable|40 unsafe",
    },
    "coverage": {
        "total": r"(?:TOTAL|total).{0,40}96 ?%|96 ?%.{0,20}total",
        "which file is covered least": r"test_stock\.py.{0,40}87",
    },
    "cprofile": {
        "how many calls": r"4,?173,?799|3,?744,?269",
        "how long": r"6\.577",
        "which test failed": "test_the_coupon_takes_ten_percent",
    },
}
PACKAGES: dict[str, Questions] = {
    "pip-inspect": {
        "how many packages": count(49, "items|packages|entries|installed|objects")
        + r"|installed.{0,30}\b49\b",
        "which Python": r"3\.11\.7",
        "which pip": r"23\.2\.1",
        "what an entry holds": together("metadata", "metadata_location", "installer"),
    },
}
GIT: dict[str, Questions] = {
    "git-log": {
        "the last commit": together("bufio: give up earlier", "8ee0730"),
        "how many commits": count(38, "commits?"),
        "when the history begins": r"Jan(?:uary)? 2\b|2026-01-02|Start the module",
        "who wrote it": "Mei Tan|Ravi Shah",
    },
    "git-log-oneline": {
        "the last commit": "8ee0730 bufio: give up earlier",
        "the commit of the other branch": "19a5aec Larger buffers",
        "how many commits": count(40, "commits?|lines"),
    },
    "git-log-stat": {
        "the last commit": together("8ee0730", "give up earlier"),
        "which files it changed": together(r"bufio/bufio\.go", r"strings/strings\.go"),
        "how many commits": count(12, "commits?"),
    },
    "git-show-stat": {
        "how many files": count(65, "files?"),
        "how many lines": r"44,?053",
        "which file is largest": r"transport_test\.go.{0,30}6,?568",
    },
    "git-diff-branches": {
        "how many files": count(4, "files?"),
        "which file is deleted": r"(?:deleted|removed).{0,80}ring/example_test\.go|ring/example_test\.go.{0,60}(?:deleted|removed|-19\d|19\d -)|\bD\s+container/ring/example_test",
        "where strings.go begins": near(232, r"strings/strings\.go"),
        "what becomes of the buffer size": r"defaultBufSize = 8192",
    },
    "git-diff-large": {
        "how many files": count(18, "files?"),
        "where scanner.go begins": near((505, 503), r"json/scanner\.go"),
        "how much scanner.go grows": r"json/scanner\.go.{0,40}\b61\d\b",
        "where tags.go begins": near((2777, 2775), r"json/tags\.go"),
    },
    "git-diff-words": {
        "how many files": count(7, "files?"),
        "where exec.go begins": near((99, 97), r"template/exec\.go"),
        "which files": together(r"json/stream\.go", r"template/funcs\.go", r"json/fuzz_test\.go"),
    },
    "git-status-dirty": {
        "on which branch": "(?:branch|##) main",
        "what is staged": r"text/template/exec\.go",
        "what is deleted": r"(?:deleted|D)\W+sort/slice\.go",
        "what else is changed": r"encoding/json/stream\.go",
    },
    "git-status-porcelain": {
        "what is deleted": r"D\s+sort/slice\.go|deleted\W+sort/slice\.go",
        "how many are untracked": count(41, "untracked|files|\\?\\?")
        + r"|notes/.{0,20}\b40\b|\b40\b.{0,30}notes",
        "what is staged": r"M\s+text/template/exec\.go",
    },
    "git-blame": {
        "who wrote it": together("Dana Vale", "Mei Tan"),
        "how many lines": count(135, "lines?"),
        "where WriteString begins": near(131, "WriteString"),
        "what Mei Tan wrote": r"Note \d: checked for overflow",
    },
    "git-merge-conflict": {
        "in which files": together(
            r"CONFLICT.{0,60}bufio/bufio\.go", r"CONFLICT.{0,60}strings/strings\.go"
        ),
        "both sides": together("EmptyReads = 64", "EmptyReads = 250"),
    },
    "git-rebase-conflict": {
        "which commit does not apply": "19a5aec",
        "in which files": together(r"bufio/bufio\.go", r"strings/strings\.go"),
        "exit code": exit_code(1),
    },
    "git-push-rejected": {
        "what was rejected": r"rejected.{0,20}main -> main",
        "why": "fetch first|contains work that you do",
    },
    "git-stash-untracked": {
        "why it stops": "untracked working tree files would be overwritten",
        "which files": r"file-1\.txt",
        "how many": count(60, "files?|paths|lines") + r"|file-60\.txt",
    },
}
SEARCHES: dict[str, Questions] = {
    "git-grep": {
        "how many matches": count(53, "matches|hits|lines"),
        "where the mux is made": location("net/http/server.go", 2306),
        "which file has most": r"bufio/bufio\.go.{0,20}\b5\b|\b5\b.{0,20}bufio/bufio\.go",
    },
    "grep-content": {
        "how many matches": count(63, "matches|hits|lines"),
        "which file has most": r"net/http/h2_bundle\.go.{0,20}\b8\b|\b8\b.{0,20}net/http/h2_bundle\.go",
        "whether response.go has any": r"net/http/response\.go",
    },
    "grep-files": {
        "how many files": count(42, "files?|paths|lines"),
        "in which packages": together("encoding/", "net/http/"),
    },
    "grep-recursive": {
        "how many matches": count(156, "matches|hits|lines"),
        "in how many files": count(44, "files?"),
        "which file has most": r"net/http/h2_bundle\.go.{0,20}\b53\b|\b53\b.{0,20}net/http/h2_bundle\.go",
        "a match in gob": r"encoding/gob/dec_helpers\.go",
    },
    "rg-context": {
        "how many matches": count(73, "matches|hits"),
        "where funcs.go panics first": near(91, r"text/template/funcs\.go|panic\("),
        "whether exec.go has any": r"text/template/exec\.go",
    },
    "rg-json": {
        "how many matches": count(26, "matches|matched_lines|match"),
        "in how many files": count(8, "files?|searches_with_match|begin"),
        "which file has most": r"httputil/persist\.go",
    },
    "rg-heading": {
        "in which files": together(
            r"strings/builder\.go", r"strings/clone_test\.go", r"json/encode\.go"
        ),
        "where builder.go has it first": near(30, r"noescape|strings/builder\.go"),
    },
    "rg-count": {
        "how many files": count(38, "files?|lines|paths"),
        "which file has most": r"h2_bundle\.go\W{1,3}30\b",
        "how many in transport.go": r"http/transport\.go\W{1,3}25\b",
    },
    "glob": {
        "how many files": count(134, "files?|paths|lines|entries"),
        "how many below net": r"net\b.{0,16}\b48\b|\b48\b.{0,16}\bnet\b",
        "which folders": together("encoding", r"\btext\b", "container", "strings"),
    },
    "find": {
        "how many files": count(260, "files?|paths|lines|entries"),
        "how many below encoding": r"encoding\b.{0,16}\b86\b|\b86\b.{0,16}\bencoding\b",
        "which folders": together("container", r"\btext\b", "bufio", "sort", "net/?"),
    },
    "find-sizes": {
        "which is the largest": r"348,?039.{0,40}h2_bundle\.go|h2_bundle\.go.{0,20}348",
        "how many files": count(18, "files?|paths|lines|entries"),
    },
    "ls-recursive": {
        "which folders": together(
            "encoding/json", "net/http/httputil|net/http/cgi", "text/template"
        ),
        "how many in encoding/gob": r"encoding/gob.{0,16}\b21\b|\b21\b.{0,16}encoding/gob",
        "how many folders": count(33, "folders|directories|dirs"),
    },
    "ls-long": {
        "how many entries": count(60, "files?|entries")
        + "|"
        + count(51, "files")
        + "|"
        + count(63, "entries|lines"),
        "which is the largest file": r"h2_bundle\.go",
        "which folders": together("cookiejar", "httputil", "cgi"),
    },
    "tree": {
        "how many files": count(123, "files?"),
        "how many folders": count(23, "folders|directories|dirs"),
        "which folders": together("template", "json", "ring", "gob"),
    },
    "du": {
        "how large net/http is": r"2,?024\s+net/http|net/http\W.{0,10}2,?024",
        "how large encoding is": r"1,?436\s+encoding|encoding\W.{0,10}1,?436",
        "how many entries": count(208, "files?|entries|lines|paths"),
    },
    "wc": {
        "how many lines in all": r"134,?439",
        "how many files": count(249, "files?|entries|rows|paths")
        + "|"
        + count(250, "lines|rows|entries"),
        "which file is longest": r"10,?923.{0,20}h2_bundle\.go|h2_bundle\.go.{0,20}10,?923",
    },
}
SOURCES: dict[str, Questions] = {
    "read-argparse": {
        "where ArgumentParser begins": near(1715, "ArgumentParser"),
        "where HelpFormatter begins": near(157, "HelpFormatter"),
        "how long it is": count(2629, "lines?")
        + "|"
        + count(2635, "lines?")
        + "|"
        + count(2630, "lines?"),
        "where _SubParsersAction begins": near(1149, "_SubParsersAction"),
    },
    "read-textwrap": {
        "where wrap begins": near(373, r"def wrap|\bwrap\b"),
        "where TextWrapper begins": near(17, "TextWrapper"),
        "where dedent begins": near(419, "dedent"),
        "how long it is": count(491, "lines?") + "|" + count(492, "lines?"),
    },
    "read-queue": {
        "which classes": together("PriorityQueue", "LifoQueue", "SimpleQueue|_PySimpleQueue"),
        "where PriorityQueue begins": near(223, "PriorityQueue"),
        "where put begins": near(122, r"def put\b|\bput\b"),
    },
    "cat-calendar": {
        "where TextCalendar begins": near((299, 295, 296), "TextCalendar"),
        "where HTMLCalendar begins": near((416, 412, 413), "HTMLCalendar"),
        "where timegm begins": near((657, 653, 654), "timegm"),
    },
    "sed-argparse": {
        "which class begins here": near((16, 1715), "class ArgumentParser"),
        "where parse_known_args begins": near((176, 1875), r"\bparse_known_args"),
        "where add_subparsers begins": near((118, 1817), "add_subparsers"),
    },
    "nl-calendar": {
        "where TextCalendar begins": near(295, "TextCalendar"),
        "where monthrange begins": near(122, "monthrange"),
        "where it ends": r"\b420\b",
    },
    "read-express": {
        "where app.render begins": near(548, r"\brender\b"),
        "where app.use begins": near(194, r"\buse\b"),
        "where app.listen begins": near(633, r"\blisten\b"),
    },
    "read-response": {
        "where res.send begins": near(111, r"\bsend\b"),
        "where res.redirect begins": near(946, r"\bredirect\b"),
        "how long it is": count(1179, "lines?") + "|" + count(1180, "lines?"),
    },
    "read-semver": {
        "where SemVer begins": near((339, 337), r"\bSemVer\b"),
        "where Range begins": near((925, 924), r"\bRange\b"),
        "where inc begins": near((609, 608), r"\binc\b"),
    },
    "read-es5-types": {
        "where interface String begins": near(410, r"interface String\b|\bString\b"),
        "what it declares": together("parseInt|eval|decodeURI", "Array|Function|Object|String"),
        "how long it is": count(4600, "lines?")
        + "|"
        + count(4601, "lines?")
        + "|"
        + count(4606, "lines?"),
    },
    "read-scripthost-types": {
        "where VBArray begins": near(271, r"\bVBArray\b"),
        "where WScript begins": near(115, r"\bWScript\b"),
        "where Enumerator begins": near(235, r"\bEnumerator\b"),
    },
    "read-go-server": {
        "where Handler begins": near(86, r"\bHandler\b"),
        "where ResponseWriter begins": near(95, r"\bResponseWriter\b"),
        "where response begins": near(423, r"type response\b|\bresponse struct|\bresponse\b"),
        "how long it is": count(3654, "lines?")
        + "|"
        + count(3655, "lines?")
        + "|"
        + count(3660, "lines?"),
    },
    "cat-go-strings": {
        "where Repeat begins": near(528, r"\bRepeat\b"),
        "where Split begins": near(308, r"\bSplit\b"),
        "which package": r"package strings",
    },
    "read-zlib": {
        "where deflateInit begins": near(228, r"\bdeflateInit\b"),
        "where z_stream begins": near(86, "z_stream"),
        "where inflate begins": near(400, r"\binflate\b"),
    },
    "head-sqlite": {
        "where the result codes are": near(434, "Result Codes"),
        "where query execution is": near(364, "One-Step Query Execution"),
        "how much is shown": count(900, "lines?") + "|" + count(899, "lines?"),
    },
    "read-lodash-min": {
        "which version": r"4\.1[78]\.\d+",
        "that it is minified": "minif|one line|long lines?|characters? per line",
        "its size": r"7[23][.,]\d ?K|7[34] ?KB|7[34],\d\d\d|7[1-4]\d{3}",
    },
    "cat-jquery-min": {
        "what it is": r"jQuery v3\.\d",
        "that it is minified": "minif|one line|long lines?|characters? per line",
    },
    "read-react-min": {
        "which names it exports": r"useState|createElement|Children|forwardRef|useEffect",
        "which licence": "MIT license",
    },
}
DOCUMENTS: dict[str, Questions] = {
    "read-acorn-readme": {
        "where the interface is": near(48, "Interface"),
        "where the command line is": near(278, "Command line interface"),
        "where the Parser class is": near(256, "`?Parser`? class"),
    },
    "read-acorn-changes": {
        "the latest version": r"8\.19\.0",
        "where 8.14.0 begins": near(85, r"8\.14\.0"),
        "where 8.13.0 begins": near(97, r"8\.13\.0"),
    },
    "cat-debug-readme": {
        "where the environment variables are": near((165, 162, 161), "Environment Variables"),
        "where browser support is": near((219, 216, 215), "Browser Support"),
        "where wildcards are": near((153, 150, 149), "Wildcards"),
    },
    "read-semver-readme": {
        "where ranges are": near(85, r"Ranges"),
        "where the functions are": near(305, "Functions"),
        "where caret ranges are": near(238, "Caret Ranges"),
        "where coercion is": near(406, "Coercion"),
    },
    "read-yargs-readme": {
        "where the configuration is": near(156, "Configuration"),
        "where boolean negation is": near(265, "boolean negation"),
        "where the API is": near(93, r"\bAPI\b"),
    },
    "fetch-ownership": {
        "the title": "What is Ownership",
        "which sections": together(
            "Ownership Rules", "Variable Scope", "The String Type|Memory and Allocation"
        ),
        "what a rule says": "Each value in Rust has an|There can only be one owner|owner goes out of scope",
    },
    "cat-bool": {
        "the title": r"bool - Rust|Primitive Type bool|primitive bool",
        "what it is": r"boolean type",
        "which sections": together("Basic usage|Examples", "Trait Implementations"),
    },
    "read-lints": {
        "the title": "Warn-by-default",
        "which lints": together(
            r"ambiguous-|ambiguous_", "dead-code|dead_code|deprecated|bindings|bare"
        ),
    },
}
DATA: dict[str, Questions] = {
    "csv-orders": {
        "how many rows": count(1342, "rows|records|lines"),
        "which columns": together("order_id", r"\bsku\b", r"\bstate\b", r"\bcity\b"),
        "the last order": "11341",
    },
    "csv-orders-read": {
        "how many rows": count(1342, "rows|records|lines") + "|" + count(1343, "rows|lines"),
        "which columns": together("order_id", r"\bsku\b", r"\bstate\b"),
        "the last order": r"11341",
    },
    "tsv-orders": {
        "how many rows": count(700, "rows|records|lines"),
        "how many columns": count(7, "columns|fields")
        + "|"
        + together("order_id", r"\bsku\b", "amount", r"\bstate\b"),
        "the last order": "10699",
    },
    "csv-semicolons": {
        "how many rows": count(1342, "rows|records|lines"),
        "which columns": together("order_id", r"\bsku\b", r"\bstate\b"),
        "the last order": "11341",
    },
    "jsonl-orders": {
        "how many records": count(400, "records|lines|objects|items|entries|rows"),
        "which fields": together("order_id", "city", "state", "total"),
        "the last order": "10999",
    },
    "json-array": {
        "how many items": count(250, "items|objects|entries|records|elements|rows"),
        "which keys": together("order_id", "city", "sku", "state"),
        "an order": r"SKU-212|10000",
    },
    "json-array-pretty": {
        "how many items": count(250, "items|objects|entries|records|elements|rows"),
        "which keys": together("order_id", "city", "sku", "state"),
        "the last order": "10249",
    },
    "package-lock": {
        "how many packages": number(563),
        "which version of the format": r"lockfileVersion\W{1,4}3",
        "what is depended on": together("express", "typescript", "webpack|vitest"),
    },
    "mime-db": {
        "how many types": number(2279),
        "what an entry holds": together("source", "extensions|charset|compressible"),
        "a type": "application/3gpp",
    },
    "package-json": {
        "which version": r"5\.51\.2",
        "what it depends on": together("acorn", "commander", "source-map-support"),
        "the scripts": r"\bscripts\b",
    },
    "jq-keys": {
        "how many items": count(563, "items|objects|entries|records|elements|rows"),
        "which version of code-frame": r"code-frame[\s\S]{0,60}7\.29\.7",
        "a package": r"node_modules/@babel/\w+|node_modules/express",
    },
    "jq-error": {
        "what is wrong": r'Cannot index string with string "major"',
        "exit code": exit_code(5),
    },
    "yaml-deployments": {
        "which services": together(r"\bworker\b", r"\bbilling\b", r"\bgateway\b", r"\bauth\b"),
        "which kinds": together("Deployment", "Service"),
        "how many documents": count(20, "documents|docs|resources"),
    },
    "cat-yaml": {
        "which services": together(r"\bsearch\b", r"\bbilling\b", r"\bmedia\b", r"\bauth\b"),
        "where billing begins": near((185, 186, 187, 188, 189), "billing"),
    },
    "toml-services": {
        "which services": together(
            r"services\.worker|\bworker\b", r"services\.billing|\bbilling\b", "gateway"
        ),
        "the title": "Services of the shop",
        "where billing begins": near(84, "billing"),
    },
    "sqlite-rows": {
        "how many rows": count(123, "rows|records"),
        "which columns": together("order_id", r"\bsku\b", r"\bstate\b"),
        "the first order": "10022",
    },
    "sqlite-column": {
        "how many rows": count(31, "rows|records|lines"),
        "the disputed order": r"Evora\s+disputed|disputed.{0,30}-12\.5",
        "how much is open in Aarhus": r"10,?019\.07",
    },
    "sqlite-table": {
        "how many rows": count(169, "rows|records") + "|" + count(168, "rows|records"),
        "the most expensive": r"11185.{0,30}397\.59",
    },
    "sqlite-schema": {
        "which columns orders has": r"order_id INTEGER PRIMARY KEY",
        "how many tables": count(25, "tables?"),
        "which index": "orders_by_city",
    },
    "sqlite-json": {
        "how many items": count(128, "items|objects|entries|records|elements|rows"),
        "which keys": together("order_id", "city", "sku"),
    },
    "sqlite-error": {
        "what is wrong": "no such column: customer",
        "how many in Cork": r"Cork\|126",
    },
    "sqlite-dump": {
        "which table": r"CREATE TABLE orders|INSERT INTO .?orders",
        "how many rows": count(997, "rows|inserts?|statements|times|lines")
        + "|"
        + count(1000, "lines")
        + "|"
        + count(1002, "lines")
        + "|"
        + count(1003, "lines"),
    },
}
QUESTIONS: dict[str, Questions] = {
    **TESTS,
    **TRACEBACKS,
    **CHECKS,
    **PACKAGES,
    **GIT,
    **SEARCHES,
    **SOURCES,
    **DOCUMENTS,
    **DATA,
}
