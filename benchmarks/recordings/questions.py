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
        "how many errors": count(166, "errors?|findings|problems"),
        "which file does not parse": r"invalid-syntax.{0,120}broken\.py|broken\.py.{0,120}invalid-syntax|broken\.py:1:1[01]",
        "exit code": exit_code(1),
    },
    "ruff-concise": {
        "how many errors": count(166, "errors?|findings|problems"),
        "where the syntax is wrong": r"broken\.py:1:1[01].{0,20}invalid-syntax",
        "how many can be fixed": r"3 fixable|40 unsafe",
    },
    "coverage": {
        "total": r"(?:TOTAL|total).{0,40}96 ?%|96 ?%.{0,20}total",
        "which file is covered least": r"test_stock\.py.{0,40}87",
    },
    "cprofile": {
        "how many calls": r"\b\d,?\d{3},?\d{3} function calls",
        "how long": r"primitive calls\) in \d+\.\d+ seconds|\b\d+\.\d+ (?:s|seconds)\b.{0,30}calls",
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
        "the last commit": r"bufio: give up earlier",
        "how many commits": count(38, "commits?"),
        "when the history begins": r"Jan(?:uary)? 2\b|2026-01-02|Start the module",
        "who wrote it": "Mei Tan|Ravi Shah",
    },
    "git-log-oneline": {
        "the last commit": r"\b[0-9a-f]{7} bufio: give up earlier",
        "the commit of the other branch": r"[0-9a-f]{7} Larger buffers",
        "how many commits": count(39, "commits?"),
    },
    "git-log-stat": {
        "the last commit": "give up earlier",
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
        "which commit does not apply": r"could not apply [0-9a-f]{7}",
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
        "in which packages": together("bufio/", "encoding/", "net/http/", "text/"),
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
        "how many entries": "|".join(
            (
                count(51, "files"),
                count(60, "files?|entries"),
                count(62, "entries"),
                count(63, "lines"),
            )
        ),
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
        "how many entries": count(208, "files?|entries|lines|paths") + "|" + count(211, "lines"),
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
        "how much is shown": count(900, "lines?") + "|" + count(899, "lines?"),
    },
    "read-lodash-min": {
        "which licence": r"lodash\.com/license",
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
        "which section is about clone": "Interacting with Clone",
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
        "how many rows": count(169, "rows|records"),
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
JAVASCRIPT: dict[str, Questions] = {
    "jest": {
        "how many failed": count(3, "failed|failures"),
        "why the prices differ": r"0\.30000000000000004",
        "which tests fail": together(
            "adds up decimal prices", "describes its items", "refuses unknown articles"
        ),
        "where the last one fails": location("cart.test.js", 21),
    },
    "jest-verbose": {
        "how many failed": count(3, "failed|failures"),
        "which test fails first": "adds up decimal prices",
        "why nothing is refused": "did not throw",
    },
    "jest-json": {
        "how many failed": count(3, "numFailedTests|failed") + r"|numFailedTests\W{1,4}3",
        "how many passed": count(180, "numPassedTests|passed") + r"|numPassedTests\W{1,4}180",
        "whether it succeeded": r"success\W{1,4}false",
    },
    "vitest": {
        "how many failed": count(3, "failed|failures"),
        "why the prices differ": r"0\.30000000000000004",
        "which tests fail": together(
            "adds up decimal prices", "describes its items", "refuses unknown articles"
        ),
    },
    "vitest-verbose": {
        "why the prices differ": r"0\.30000000000000004",
        "which tests fail": together("adds up decimal prices", "refuses unknown articles"),
        "where the last one fails": location("cart.test.js", 22),
    },
    "mocha": {
        "how many failed": count(3, "failing|failed|failures"),
        "how many passed": count(180, "passing|passed"),
        "which test fails first": "adds up decimal prices",
        "why nothing is refused": "Missing expected exception",
    },
    "mocha-xunit": {
        "how many failed": count(3, "errors|failures|failed|failing"),
        "how many tests": count(183, "tests?"),
        "which test fails": r"adds up decimal prices.{0,300}fail|fail.{0,200}adds up decimal prices|0\.30000000000000004",
    },
    "node-test": {
        "how many failed": r"\bfail\w*\W{0,3}3\b|\b3 fail|" + count(3, "failed|failing"),
        "which tests fail": together("adds up decimal prices", "refuses unknown articles"),
        "where the last one fails": location("cart.test.js", 23),
    },
    "node-test-tap": {
        "how many failed": r"\bfail\w*\W{0,3}3\b|\b3 (?:subtests )?fail",
        "which tests fail": together(
            "not ok.{0,20}adds up decimal prices|fail.{0,40}adds up decimal prices|adds up decimal prices.{0,40}fail"
        ),
        "how many tests": r"tests\W{0,3}183\b|\b183 tests",
    },
    "node-error": {
        "the cause": r"TypeError: amount must be whole: 1\.5",
        "where it is thrown": location("cart.js", 9),
        "what fails": "Error: checkout failed",
        "after which order": r"order 0119",
    },
    "node-module-missing": {
        "which module is missing": r"Cannot find module '\./webpack\.config\.prod'",
        "who needs it": location("build.js", 1),
        "exit code": exit_code(1),
    },
    "tsc": {
        "what is wrong in catalog.ts": r"catalog\.ts\W{1,2}(?:12|16|20|29)\b.{0,40}TS\d+",
        "how many errors": count(100, "errors?"),
        "which name is missing": r"Cannot find name 'labell'",
    },
    "tsc-pretty": {
        "how many errors": count(100, "errors?"),
        "in how many files": count(25, "files?"),
        "which name is missing": r"Cannot find name 'labell'",
    },
    "eslint": {
        "how many problems": count(120, "problems?"),
        "how many errors": count(90, "errors?"),
        "which name is not defined": r"'nmae' is not defined",
    },
    "eslint-json": {
        "how many files": count(16, "items|files|entries|objects|elements|records"),
        "what an entry holds": together("filePath", "messages", "errorCount"),
        "how many errors the first file has": r"errorCount\W{1,4}6\b",
    },
    "prettier-check": {
        "how many files": count(61, "files?"),
        "which files": r"legacy/load0\.js|\.eslintrc\.js",
    },
    "webpack": {
        "which package is missing": r'Could not resolve "frobnicate-lite"',
        "where it is imported": location("webpack/index.js", 2),
    },
    "npm-404": {
        "which package is missing": r"left-padder-pro-max",
        "which error": "E404|404 Not Found",
    },
    "npm-404-verbose": {
        "which package is missing": r"404.{0,60}left-padder-pro-max|left-padder-pro-max.{0,40}(?:404|not be found)",
        "which error": "E404",
        "exit code": exit_code(1),
    },
    "npm-eresolve": {
        "which error": "ERESOLVE",
        "what is installed": r"react@16\.14\.0",
        "what asks for another": r"react-dom@18\.\d",
    },
    "npm-audit": {
        "why it fails": "405 Method Not Allowed",
        "exit code": exit_code(1),
    },
    "npm-ls": {
        "which lodash": r"lodash@4\.17\.4",
        "direct dependencies": together(
            r"axios@0\.18\.0", r"handlebars@4\.0\.0", r"request@2\.88\.0"
        ),
    },
    "npm-view": {
        "the latest version": r"latest\W{1,6}5\.3\.0",
        "what it is": r"minimalist web framework",
        "its licence": r"license\W{1,5}MIT",
        "how many versions": r"versions.{0,30}\b2\d\d\b|\b2\d\d (?:versions|items|entries|strings)",
    },
}
MORE_PYTHON: dict[str, Questions] = {
    "unittest-verbose": {
        "how many failed": r"failures\W{1,2}1\b|\b1 (?:failure|failed)",
        "how many tests": count(84, "tests?"),
        "what the rounding gives": r"Decimal\('2\.3'\) != Decimal\('2\.35'\)",
        "which article is unknown": r"KeyError: 'SKU-999'",
    },
    "unittest-plain": {
        "what the rounding gives": r"Decimal\('2\.3'\) != Decimal\('2\.35'\)",
        "which test has an error": "test_unknown",
        "how many tests": count(84, "tests?"),
    },
    "pip-missing": {
        "which package is missing": r"(?:No matching distribution|Could not find a version).{0,60}torchvizz-extra-tools",
        "exit code": exit_code(1),
    },
    "pip-conflict": {
        "what conflicts": together(r"urllib3==2\.2\.1", r"botocore 1\.29\.0 depends on urllib3"),
        "which error": "ResolutionImpossible|conflicting dependencies",
    },
    "pip-install-verbose": {
        "whether it worked": r"Successfully installed",
        "which Django": r"[Dd]jango[-= ]4\.2\.11",
        "exit code": exit_code(0),
    },
    "pip-list": {
        "which Django": r"Django\s+4\.2\.11",
        "how many packages": count(49, "packages|rows|lines|entries") + "|" + count(51, "lines"),
    },
    "pip-freeze": {
        "which Django": r"Django==4\.2\.11",
        "how many packages": count(49, "packages|rows|lines|entries|requirements")
        + r"|Sphinx==7\.2\.6",
    },
    "pip-build-fails": {
        "which file is missing": r"libfrob/frob\.h: No such file",
        "which package fails": r"(?:Failed building wheel for|Could not build wheels for).{0,5}native|native.{0,40}fail",
    },
    "python-help": {
        "where reporting is": near(70, "Reporting"),
        "where logging is": near(185, "logging"),
        "where the environment variables are": near(465, "Environment variables"),
        "where collection is": near(116, "collection"),
    },
    "pytest-collect": {
        "how many tests": count(161, "tests?|items"),
        "which files": together(r"test_orders\.py", r"test_prices\.py", r"test_stock\.py"),
    },
    "pydoc": {
        "which classes": together(r"class Line|\bLine\b", r"OrderError"),
        "where json begins": near((184, 180, 186, 182), r"json"),
    },
    "coverage-xml": {
        "the share of lines": r"line-rate\W{1,2}0\.96\d*|96(?:\.\d+)? ?%",
        "which packages": together(r"\bshop\b", r"\btests\b"),
    },
    "mcp-pytest": {
        "how many failed": count(6, "failed|failures"),
        "which article has no price": r"KeyError.{0,4}SKU-120",
        "a failing test": "test_the_coupon_takes_ten_percent|test_prices_have_two_digits|test_an_article_is_put_twice",
    },
}
RUST: dict[str, Questions] = {
    "cargo-test": {
        "how many failed": count(2, "failed|failures"),
        "which tests": together("a_transfer_to_nobody_is_refused", "fees_are_rounded_up"),
        "what the fee is": together(r"left: 2", r"right: 3"),
        "where it panics": location("src/lib.rs", 48),
    },
    "cargo-test-codex": {
        "how many failed and passed": together(count(2, "failed"), count(160, "passed")),
        "why the fee is wrong": "a fee is never rounded down",
        "where it panics": location("src/lib.rs", 48),
    },
    "cargo-run-panic": {
        "what panics": r"called `Option::unwrap\(\)` on a `None` value",
        "where": location("src/lib.rs", 48),
        "who called it": r"main\.rs:6|ledger::Ledger::transfer|main::settle|ledger::settle",
        "exit code": exit_code(101),
    },
    "cargo-run-panic-short": {
        "what panics": r"called `Option::unwrap\(\)` on a `None` value",
        "where": location("src/lib.rs", 48),
        "exit code": exit_code(101),
    },
    "cargo-build-errors": {
        "how many errors": count(7, "(?:previous )?errors?"),
        "the moved value": r"E0382|borrow of moved value: `name`",
        "where the first is": location("src/report.rs", 25),
    },
    "cargo-check-short": {
        "how many errors": count(7, "(?:previous )?errors?"),
        "where the value is moved": location("src/report.rs", 21),
        "exit code": exit_code(101),
    },
    "cargo-json": {
        "how many errors": count(7, "(?:previous )?errors?") + "|" + count(7, "compiler-message"),
        "whether it succeeded": r"success\W{1,4}false|could not compile|failed",
        "an error": r"E0277|E0308|E0615|E0507|E0515|E0596|E0382",
    },
    "cargo-missing-crate": {
        "what fails": "failed to (?:get|load source for dependency)",
        "which file is missing": r"/home/dev/ledger-core/Cargo\.toml",
    },
    "read-rust": {
        "where Ledger begins": near((28, 29), r"struct Ledger|\bLedger\b"),
        "where the tests begin": near((57, 58, 59), r"mod tests|\btests\b"),
        "where transfer begins": near((42, 43), r"\btransfer\b"),
    },
    "rustc-explain": {
        "what it is about": "already borrowed with a certain mutability",
        "how to fix it": r"ensure that you don't have any other references",
    },
}
GO: dict[str, Questions] = {
    "go-test-verbose": {
        "which tests fail": together("TestExpired", "TestEmptyKey", "TestNil"),
        "what was expected": r'got cache: "old" expired, want cache: missing',
        "what panics": "nil pointer dereference",
        "where it panics": location("cache.go", 33),
    },
    "go-test-run": {
        "which tests fail": together(
            "FAIL.{0,8}TestExpired|TestExpired.{0,20}FAIL", "TestEmptyKey"
        ),
        "where the empty key is accepted": location("cache_test.go", 36),
        "exit code": exit_code(1),
    },
    "go-test-json": {
        "which tests fail": together("TestExpired", "TestEmptyKey"),
        "why": "an empty key was accepted|an expired key: got",
        "exit code": exit_code(1),
    },
    "go-build": {
        "which errors": r"report\.go:(?:5|16|23|24|26|32)\b",
        "where the types differ": location("report.go", 17),
    },
    "go-missing-module": {
        "which module": r"example\.net/nowhere/router",
        "why": "GOPROXY=off|module lookup disabled|no required module",
    },
    "go-vet": {
        "what is copied": "passes lock by value|copies lock value",
        "where the code is unreachable": location("audit.go", 20),
    },
    "go-panic": {
        "what panics": r"index out of range \[7\] with length 1",
        "where": location("main.go", 13),
        "exit code": r"exit status 2|" + exit_code(1),
    },
    "go-deadlock": {
        "what happened": r"all goroutines are asleep - deadlock",
        "where main waits": location("main.go", 18),
        "where the others wait": location("main.go", 13),
    },
    "go-race": {
        "what happened": "DATA RACE|concurrent map",
        "where": location("main.go", 11),
    },
    "go-doc": {
        "where Repeat is": near(117, r"\bRepeat\b"),
        "which types": together(
            r"type Builder|\bBuilder\b", r"type Reader|\bReader\b", r"Replacer"
        ),
        "where the types begin": near((265, 267), "TYPES|Builder"),
    },
    "go-list-json": {
        "which packages": together(r"example\.org/cache/cache", r"example\.org/cache/audit"),
        "which imports": together("errors", r"\btime\b"),
    },
}
C: dict[str, Questions] = {
    "make-errors": {
        "which member is wrong": r"no member named .nmae.",
        "where": location("src/engine.c", 8),
        "what else is wrong": r"src/engine\.c:18",
        "which target fails": r"\*\*\*.{0,30}src/engine\.o|engine\.o.{0,20}Error 1",
    },
    "make-keep-going": {
        "which member is wrong": r"no member named .nmae.",
        "where": location("src/engine.c", 8),
        "exit code": exit_code(2),
    },
    "link-error": {
        "which symbol is missing": r"undefined reference to .engine_weld",
        "exit code": exit_code(1),
        "who needs it": r"in function .main|main\.c:\(",
    },
    "gcc-errors": {
        "which member is wrong": r"no member named .nmae.",
        "where the other error is": location("src/engine.c", 18),
    },
    "gpp-templates": {
        "which call has no match": r"no matching function for call to .{0,80}push_back\(double\)",
        "where": location("big.cpp", 8),
        "which operator is missing": r"no match for .operator<|operator<.{0,60}Key",
        "where sort is called": location("big.cpp", 10),
    },
    "cmake-missing": {
        "which package": r"Frobnicate",
        "where": location("CMakeLists.txt", 4),
        "exit code": exit_code(1),
    },
    "cmake-trace": {
        "which package": r"provided by\s+.?Frobnicate|find_package.{0,80}Frobnicate|FrobnicateConfig",
        "where": location("CMakeLists.txt", 4),
        "whether it ended": "Configuring incomplete|errors occurred",
    },
}
JAVA: dict[str, Questions] = {
    "maven-test": {
        "how many failed": count(2, "Failures") + "|" + count(3, "failed"),
        "which tests": together("neverGoesBelowZero", "namesTheMissingArticle", "countsArticles"),
        "what was expected": r"a shelf cannot owe articles.{0,30}expected: <0> but was: <-3>|expected: <0> but was: <-3>",
        "where": r"StoreTest\.(?:java|neverGoesBelowZero)\W{1,2}22\b",
    },
    "surefire-report": {
        "how many failures": count(2, "failures|failed"),
        "how many errors": count(1, "errors?"),
        "which test fails": "neverGoesBelowZero|namesTheMissingArticle|countsArticles",
    },
    "maven-compile": {
        "which package is missing": r"package org\.apache\.commons\.lang3 does not exist",
        "where a symbol is missing": r"Report\.java\W{1,3}(?:10|22)\b",
        "whether it ended": "BUILD FAILURE|COMPILATION ERROR",
    },
    "maven-missing": {
        "which artifact is missing": r"org\.example\.tools:frobnicator:(?:jar:)?9\.1",
        "why": "offline mode|Could not resolve dependencies",
    },
    "maven-debug": {
        "whether it ended": "BUILD FAILURE",
        "which tests fail": "neverGoesBelowZero|namesTheMissingArticle|countsArticles",
        "exit code": exit_code(1),
    },
    "javac": {
        "how many errors": count(7, "errors?"),
        "which package is missing": r"package org\.apache\.commons\.lang3 does not exist",
        "where the types differ": location("Report.java", 15),
    },
    "java-exception": {
        "which order": "order 130 cannot be shipped",
        "the first cause": r"NullPointerException.{0,60}intValue",
        "where it began": r"Store\.java:1\d\b",
        "which article": "article SKU-130 is not kept here",
    },
    "java-exception-streams": {
        "which order": "order 130 cannot be shipped",
        "the first cause": r"NullPointerException",
        "exit code": exit_code(1),
    },
    "javap": {
        "which methods": together(r"\bput\b", r"\btake\b", r"\bsize\b"),
        "which field": r"Map.{0,60}amounts",
    },
    "read-java": {
        "where take begins": near(14, r"\btake\b"),
        "which class": "class Store",
        "where the last shelf is": near((231, 232), "moveToShelf29"),
    },
    "java-help": {
        "how to open a package": r"--add-opens",
        "where --add-modules is": near(114, "--add-modules"),
    },
}
SERVERS: dict[str, Questions] = {
    "server-log": {
        "how many errors": count(6, "errors?"),
        "what went wrong": "ZeroDivisionError|share of article 23 could not be computed",
        "where": location("app.py", 32),
        "how many warnings": count(4, "warnings?"),
    },
    "server-log-read": {
        "how many errors": count(6, "errors?"),
        "what went wrong": "ZeroDivisionError|share of article 23 could not be computed",
        "what is low on stock": "article 40 is low on stock",
    },
    "server-log-grep": {
        "what went wrong": "ZeroDivisionError: division by zero",
        "where": location("app.py", 32),
        "which articles": together("article 23", "article 138"),
    },
    "json-log": {
        "how many lines": count(320, "lines|records|objects|entries|items|rows"),
        "which job fails": "job-017",
        "why": r"bucket 'invoices' is read-only",
        "how many errors": count(6, "errors?"),
    },
    "curl-articles": {
        "how many articles": number(150),
        "what an article holds": together("sku", "title", "stock", "price"),
        "which page": r"page\W{1,4}1\b",
    },
    "curl-pretty": {
        "how many articles": number(150),
        "what an article holds": together("sku", "title", "stock", "price"),
        "the first article": r"SKU-001",
    },
    "curl-404": {
        "which status": r"404",
        "exit code": exit_code(22),
    },
    "curl-500": {
        "which status the last has": "500 Internal Server Error",
        "which request": "req-00046",
    },
    "curl-refused": {
        "why": "Connection refused|Couldn't connect to server",
        "exit code": exit_code(7),
    },
    "python-refused": {
        "why": r"Connection refused",
        "which exception": r"URLError",
        "exit code": exit_code(1),
    },
    "address-in-use": {
        "why": "Address already in use",
        "exit code": exit_code(1),
    },
    "psql-customers": {
        "how many rows": count(230, "rows"),
        "which columns": together(r"\bname\b", r"\bcity\b", r"\bjoined\b"),
        "the last one": "Customer 230",
    },
    "psql-grouped": {
        "how many rows": count(12, "rows"),
        "how many are open in Cork": r"Cork\W+open\W+330",
    },
    "psql-explain": {
        "how long it took": r"Execution Time: \d+\.\d+ ms",
        "which scan": r"Seq Scan on|Bitmap Heap Scan|Index Scan",
        "the top node": r"Limit\s+\(cost",
    },
    "psql-error": {
        "which column is missing": r'column "nme" does not exist',
        "what is meant": r"customers\.name",
    },
    "psql-constraint": {
        "which constraint": "orders_customer_id_fkey",
        "exit code": exit_code(1),
    },
    "psql-settings": {
        "how many rows": count(354, "rows"),
        "the last one": "zero_damaged_pages",
        "the first one": "DateStyle",
    },
    "psql-describe": {
        "which columns": together("customer_id", r"\btotal\b", r"\bstate\b"),
        "which keys": together("orders_pkey", "orders_customer_id_fkey"),
    },
    "psql-expanded": {
        "how many records": count(119, "records?|rows") + r"|RECORD 119\b",
        "which columns": together("customer_id", r"\btotal\b", r"\bstate\b"),
    },
}
MANUALS: dict[str, Questions] = {
    "man-curl": {
        "where the exit codes are": near(5756, "EXIT CODES"),
        "where the environment is": near(5614, "ENVIRONMENT"),
        "where the options begin": near(176, "OPTIONS"),
        "where the protocols are": near(95, "PROTOCOLS"),
    },
    "man-ssh-config": {
        "where the patterns are": near((1288, 1284), "PATTERNS"),
        "where the tokens are": near((1321, 1317), "TOKENS"),
        "where the files are": near((1376, 1372), r"\bFILES\b"),
    },
    "man-jq": {
        "where the builtins are": near((538, 536), "BUILTIN OPERATORS"),
        "where the conditionals are": near((1659, 1657), "CONDITIONALS"),
        "where modules are": near((2572, 2570), "MODULES"),
    },
    "help-curl": {
        "how to use it": r"Usage: curl \[options",
        "how long it is": count(251, "lines?|options") + "|" + count(250, "lines?|options"),
        "the option for a user": r"-u, --user <user:password>",
    },
    "help-rg": {
        "where the options begin": near(40, "OPTIONS"),
        "where the arguments are": near(23, "ARGS"),
        "how to use it": r"rg \[OPTIONS\] PATTERN",
    },
    "help-cmake": {
        "where the options are": near((14, 11), "Options") + r"|^Options\n +-S <path",
        "where the generators are": near((112, 114, 115, 117), "generators"),
        "how to use it": r"cmake \[options\] <path-to-source>",
    },
    "help-go-build": {
        "how to use it": r"go build \[-o output\]",
        "where -race is": near(41, r"-race"),
        "where -ldflags is": near(88, r"-ldflags"),
    },
    "help-kubectl-explain": {
        "where the commands are": near(15, "Available Commands"),
        "where the options are": near(34, "Options"),
        "which commands": together("clusterrole", "configmap", "deployment|cronjob|ingress"),
    },
}
MACHINES: dict[str, Questions] = {
    "kubectl-refused": {
        "which server": r"localhost:8080",
        "why": "connection refused|was refused",
    },
    "docker-refused": {
        "what is wrong": "Cannot connect to the Docker daemon",
    },
    "dpkg-list": {
        "which version of adduser": r"adduser\s+3\.134",
        "how many packages": count(495, "packages|rows|lines|entries") + "|" + count(500, "lines"),
        "which columns": together("Name", "Version", "Architecture"),
    },
    "apt-missing": {
        "which package": "Unable to locate package libfrobnicate-dev",
        "exit code": exit_code(100),
    },
    "apt-simulate": {
        "how many are installed": r"\b\d+ newly installed",
        "which": "additional packages will be installed|NEW packages will be installed",
        "whether any is removed": r"\b0 to remove",
    },
    "valgrind": {
        "how many errors": count(3, "errors?"),
        "how much is lost": r"definitely lost: 72 bytes",
        "where the bad read is": location("leak.c", 16),
    },
    "valgrind-streams": {
        "how many errors": count(3, "errors?"),
        "what is read": "Invalid read of size 4",
        "where": location("leak.c", 16),
    },
    "gdb-backtrace": {
        "which signal": "SIGSEGV",
        "where": location("crash.c", 6),
        "in which function": r"in label|label \(account",
    },
    "strace": {
        "which file is missing": r"config/settings\.toml.{0,60}ENOENT|config/settings\.toml.{0,30}No such file",
        "exit code": exit_code(1) + r"|exited with 1",
    },
    "strace-python": {
        "what is missing": r"No module named 'nosuchmodule'",
        "exit code": exit_code(1) + r"|exited with 1",
    },
    "asan": {
        "what is wrong": "heap-buffer-overflow",
        "where": location("leak.c", 16),
        "how large the block is": "40-byte region",
    },
    "segfault": {
        "how it ended": "Segmentation fault|" + exit_code(139),
        "after which step": r"step 900",
    },
    "objdump": {
        "which functions": together("<push>", "<total>", "<drop>", "<main>"),
        "where main begins": near(199, "<main>"),
        "which format": "elf64-x86-64",
    },
    "nm": {
        "which function is largest": r"\bmain\b",
        "which sections": "Section Headers",
        "which build": r"Build ID: [0-9a-f]{8}",
    },
    "ps": {
        "which process": r"http\.server 18099",
        "how many processes": r"\b6[2-6] (?:processes|rows|lines|entries)",
    },
    "top": {
        "how many tasks": r"Tasks:\s+\d+ total",
        "how much memory": r"MiB Mem",
        "which process": r"python3",
    },
    "env": {
        "which language": r"LANG=C\.UTF-8",
        "where the home is": r"HOME=/home/dev",
    },
    "certificate": {
        "who issued it": r"Issuer: ?CN ?= ?shop",
        "until when it is valid": r"Not After ?: [A-Z][a-z]{2} ",
        "which algorithm signs it": "sha256WithRSAEncryption",
    },
    "terraform-plan": {
        "how many are added": r"24 to add",
        "whether any is destroyed": r"0 to destroy",
        "which output": r"\bnames\b",
    },
    "terraform-invalid": {
        "which variable is undeclared": r"undeclared input variable|\"realease\"|var\.realease",
        "which resource is undeclared": r"terraform_data\.wbe|\"wbe\"",
        "where": location("main.tf", 2),
    },
}
MORE_DOCUMENTS: dict[str, Questions] = {
    "mcp-read": {
        "where ArgumentParser begins": near(1715, "ArgumentParser"),
        "where Action begins": near(790, r"\bAction\b"),
        "where Namespace begins": near(1315, r"\bNamespace\b"),
    },
    "image-block": {
        "how large it is": r"\b\d{2,4} ?[x×] ?\d{2,4}\b",
    },
    "image-url": {
        "what it is": r"\bPNG\b|image/png",
        "how large it is": r"\b\d{2,4} ?[x×] ?\d{2,4}\b",
    },
    "base64-png": {
        "what it is": r"\bPNG\b|image/png",
        "how large it is": r"\b\d{2,4} ?[x×] ?\d{2,4}\b|15[,.]?[56]\d*",
    },
    "xxd-png": {
        "what it is": r"\bPNG\b",
        "how long it is": count(600, "lines?"),
    },
    "cat-binary": {
        "what it is": r"SQLite format 3|\bSQLite\b",
        "that it is no text": r"binary|not text|\bbytes\b|SQLite database",
    },
    "search-results": {
        "how many": count(250, "items|objects|entries|records|elements|results|rows"),
        "what a result holds": together("title", "url", "snippet", "score"),
        "the first": r"SKU-212 in Izmir",
    },
    "kustomize": {
        "which services": together("staging-worker", "staging-billing", "staging-gateway"),
        "which kinds": together("Deployment", "Service"),
        "how many documents": count(20, "documents|docs|resources|objects"),
    },
    "kubectl-json": {
        "what cannot be reached": r"connection refused",
        "which file is not applied": r"unable to recognize .{0,3}deploy/all\.yaml|deploy/all\.yaml.{0,60}refused",
        "exit code": exit_code(1),
    },
    "read-css": {
        "where blockquote is": near(150, "blockquote"),
        "where tables are": near(123, "table"),
    },
    "cat-bash": {
        "what controls it": r"Environment variables that control make|GOHOSTARCH|GOROOT_FINAL",
        "how long it is": count(233, "lines?") + "|" + count(234, "lines?"),
    },
    "read-xml": {
        "which artifact": r"<?artifactId\W{1,3}maven\b",
        "where the modules are": near(78, "modules"),
        "where the managed dependencies are": near(95, "dependencyManagement"),
    },
    "read-vitest-types": {
        "where SourceMap begins": near(143, r"\bSourceMap\b"),
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
    **JAVASCRIPT,
    **MORE_PYTHON,
    **RUST,
    **GO,
    **C,
    **JAVA,
    **SERVERS,
    **MANUALS,
    **MACHINES,
    **MORE_DOCUMENTS,
}
