"""Seeded workloads: large reports that look like real ones, with their true counts.

    python3 benches/workload.py junit 100M out.xml      one report of about this size
    python3 benches/workload.py files 100000 folder     so many small JUnit reports, ten cases each

One case in a hundred fails with a message and a trace, one in fifty is skipped, one in fifty prints
something; names have markup and non-ASCII letters in them. Prints the counts as one JSON line.
"""
import json
import os
import random
import sys
from xml.sax.saxutils import escape, quoteattr

NOUNS = "basket voucher stock parcel refund shelf ledger tariff depot courier label receipt pallet invoice".split()
VERBS = "adds drops rounds splits merges counts rejects keeps prints orders locks frees".split()
LETTERS = ["Größe", "日本語", "naïve", "Ελλάδα", "🚀", "çà"]


class Words:
    """Text made once and drawn from often, so that a gigabyte takes seconds."""

    def __init__(self, seed):
        r = self.random = random.Random(seed)
        pick = r.choice
        self.names = ["_".join([pick(VERBS), pick(NOUNS), pick(NOUNS), str(r.randrange(1000))]) for _ in range(5000)]
        self.names += ["%s %s when %s < %d & full" % (pick(NOUNS), pick(VERBS), pick(NOUNS), r.randrange(99)) for _ in range(300)]
        self.names += ["%s %s %s" % (pick(VERBS), pick(LETTERS), pick(NOUNS)) for _ in range(200)]
        self.classes = ["shop.%s.%s%sTest" % (pick(NOUNS), pick(NOUNS).title(), pick(VERBS).title()) for _ in range(800)]
        self.lines = ["2026-05-%02d 11:%02d:%02d.%03d INFO %s.%s - %s %s <%d> \"%s\"" % (
            r.randint(1, 28), r.randrange(60), r.randrange(60), r.randrange(1000), pick(NOUNS), pick(NOUNS),
            pick(NOUNS), pick(VERBS), r.randrange(10 ** 8), pick(LETTERS)) for _ in range(2000)]
        self.logs = ["\n".join(pick(self.lines) for _ in range(r.randint(2, 14))) for _ in range(300)]
        self.long_logs = ["\n".join(pick(self.lines) for _ in range(r.randint(20, 180))) for _ in range(50)]
        self.messages = ["expected: <%d> but was: <%d> for \"%s\" & %s" % (
            r.randrange(999), r.randrange(999), pick(NOUNS), pick(LETTERS)) for _ in range(400)]
        self.traces = ["\n".join("\tat shop.%s.%s.%s(%s.java:%d)" % (
            pick(NOUNS), pick(NOUNS).title(), pick(VERBS), pick(NOUNS).title(), r.randint(1, 900))
            for _ in range(r.randint(6, 30))) for _ in range(200)]
        self.times = ["%.3f" % r.expovariate(25) for _ in range(4000)]

    def outcome(self):
        x = self.random.random()
        return "failed" if x < 0.01 else "error" if x < 0.011 else "skipped" if x < 0.031 else "passed"


def junit_suite(w, cases, counts):
    r = w.random
    cls = r.choice(w.classes)
    body, tally = [], dict.fromkeys(("failed", "error", "skipped"), 0)
    for _ in range(cases):
        outcome = w.outcome()
        counts[outcome] += 1
        head = '    <testcase name="%s" classname="%s" time="%s"' % (escape(r.choice(w.names)), cls, r.choice(w.times))
        inner = ""
        if outcome == "skipped":
            inner = '      <skipped message="%s"/>\n' % r.choice(NOUNS)
        elif outcome != "passed":
            tag = "failure" if outcome == "failed" else "error"
            message, trace = r.choice(w.messages), r.choice(w.traces)
            text = "java.lang.AssertionError: %s\n%s" % (message, trace)
            text = "<![CDATA[%s]]>" % text if r.random() < 0.5 else escape(text)
            inner = "      <%s message=%s type=\"java.lang.AssertionError\">%s</%s>\n" % (tag, quoteattr(message), text, tag)
        if outcome != "passed":
            tally[outcome] += 1
        if r.random() < 0.02:
            log = r.choice(w.logs)
            inner += "      <system-out>%s</system-out>\n" % ("<![CDATA[%s]]>" % log if r.random() < 0.5 else escape(log))
        body.append(head + ("/>\n" if not inner else ">\n%s    </testcase>\n" % inner))
    attributes = 'name="%s" tests="%d" failures="%d" errors="%d" skipped="%d" timestamp="2026-05-04T11:%02d:%02d" hostname="ci-%d"' % (
        cls, cases, tally["failed"], tally["error"], tally["skipped"], r.randrange(60), r.randrange(60), r.randrange(9))
    tail = ""
    if r.random() < 0.15:
        tail = "    <system-out><![CDATA[%s]]></system-out>\n" % r.choice(w.long_logs)
    return "  <testsuite %s>\n%s%s  </testsuite>\n" % (attributes, "".join(body), tail)


def junit(w, out, counts):
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="shop">\n'
    while True:
        done = yield junit_suite(w, w.random.randint(5, 120), counts)
        if done:
            break
    yield "</testsuites>\n"


def gojson(w, out, counts):
    r, second = w.random, 0
    text = lambda s: json.dumps(s, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    done = False
    while not done:
        package, lines, failed = "example.org/shop/%s/%s" % (r.choice(NOUNS), r.choice(w.names[:5000])), [], False
        second += 1
        stamp = lambda: "2026-05-04T11:%02d:%02d.%09dZ" % (second // 60 % 60, second % 60, r.randrange(10 ** 9))
        event = lambda action, more="": lines.append('{"Time":"%s","Action":"%s","Package":"%s"%s}\n' % (stamp(), action, package, more))
        event("start")
        for number in range(r.randint(5, 60)):
            test = "Test%s%d" % (r.choice(w.names[:5000]).title().replace("_", ""), number)
            named = ',"Test":"%s"' % test
            said = lambda line: event("output", '%s,"Output":%s' % (named, text(line)))
            event("run", named)
            said("=== RUN   %s\n" % test)
            outcome = w.outcome().replace("error", "failed")
            counts[outcome] += 1
            if r.random() < 0.1:
                for _ in range(r.randint(1, 6)):
                    said("    %s_test.go:%d: %s\n" % (r.choice(NOUNS), r.randint(1, 900), r.choice(w.lines)))
            if outcome == "failed":
                failed = True
                for line in [r.choice(w.messages)] + r.choice(w.traces).split("\n"):
                    said("    %s\n" % line)
            word = {"failed": "FAIL", "skipped": "SKIP", "passed": "PASS"}[outcome]
            said("--- %s: %s (%ss)\n" % (word, test, r.choice(w.times)[:-1]))
            event(word.lower(), '%s,"Elapsed":%s' % (named, r.choice(w.times)[:-1]))
        word = "FAIL" if failed else "ok  "
        event("output", ',"Output":%s' % text("%s\n" % ("FAIL" if failed else "PASS")))
        event("output", ',"Output":%s' % text("%s\t%s\t0.42s\n" % (word, package)))
        event("fail" if failed else "pass", ',"Elapsed":0.42')
        done = yield "".join(lines)


def jest(w, out, counts):
    r, first = w.random, True
    dump = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    yield '{"numRuntimeErrorTestSuites":0,"openHandles":[],"startTime":1777888800000,"success":false,"testResults":['
    done = False
    while not done:
        results, describe = [], r.choice(NOUNS) + " " + r.choice(VERBS)
        for _ in range(r.randint(5, 80)):
            outcome = w.outcome().replace("error", "failed")
            counts[outcome] += 1
            title = r.choice(w.names)
            failures = ["Error: \x1b[2mexpect(\x1b[22m\n\n%s\n%s" % (r.choice(w.messages), r.choice(w.traces))] if outcome == "failed" else []
            results.append({
                "ancestorTitles": [describe, r.choice(NOUNS)], "duration": None if outcome == "skipped" else r.randrange(300),
                "failing": False, "failureDetails": [{"matcherResult": {"pass": False}}] if failures else [],
                "failureMessages": failures, "fullName": "%s %s" % (describe, title), "invocations": 1, "location": None,
                "numPassingAsserts": 0 if failures else 1, "retryReasons": [], "startAt": 1777888800000 + r.randrange(10 ** 6),
                "status": "pending" if outcome == "skipped" else outcome, "title": title})
        bad = any(result["status"] == "failed" for result in results)
        done = yield ("" if first else ",") + dump({
            "assertionResults": results, "endTime": 1777888801000, "message": "", "startTime": 1777888800000, "summary": "",
            "name": "/builds/shop/src/%s/%s.test.ts" % (r.choice(NOUNS), r.choice(w.names[:5000])), "status": "failed" if bad else "passed"})
        first = False
    yield "]}\n"


def write(kind, size, path, seed=7):
    words, counts = Words("%s-%d" % (kind, seed)), dict.fromkeys(("passed", "failed", "error", "skipped"), 0)
    produce, written = {"junit": junit, "gojson": gojson, "jest": jest}[kind](words, path, counts), 0
    with open(path, "wb", buffering=1 << 20) as out:
        piece = next(produce)
        while True:
            data = piece.encode()
            out.write(data)
            written += len(data)
            try:
                piece = produce.send(written >= size)
            except StopIteration:
                break
    return {"kind": kind, "bytes": written, **counts}


def write_files(number, folder, seed=7):
    words, counts, written = Words("files-%d" % seed), dict.fromkeys(("passed", "failed", "error", "skipped"), 0), 0
    for index in range(number):
        place = os.path.join(folder, "m%03d" % (index % 1000))
        if index < 1000:
            os.makedirs(place, exist_ok=True)
        data = ('<?xml version="1.0" encoding="UTF-8"?>\n' + junit_suite(words, 10, counts)).encode()
        with open(os.path.join(place, "TEST-%06d.xml" % index), "wb") as out:
            out.write(data)
        written += len(data)
    return {"kind": "files", "files": number, "bytes": written, **counts}


def size_of(text):
    units = {"K": 10 ** 3, "M": 10 ** 6, "G": 10 ** 9}
    return int(float(text[:-1]) * units[text[-1]]) if text[-1] in units else int(text)


if __name__ == "__main__":
    kind, size, path = sys.argv[1:4]
    print(json.dumps(write_files(size_of(size), path) if kind == "files" else write(kind, size_of(size), path)))
