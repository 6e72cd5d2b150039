//! Hostile texts against every escaping type.

use proptest::prelude::*;

use super::*;

/// Texts that were seen to break reports, one per class of attack.
const HOSTILE: &[&str] = &[
    "@maintainer and @team/security look here",
    "resolves #7, GH-8, owner/name#9 and 89abcdef0123456789abcdef0123456789abcdef",
    "```\n# not a heading\n```suggestion\nfalse\n```\n~~~~",
    "`````````````\n<i>i</i>",
    "</code></details></summary></td></table><h1>0 failed</h1><details open><summary>",
    "<!-- marker --> gone <!-- and the rest",
    "![p](http://tracker.test/p.png) <img src=//tracker.test/q.png onerror=alert(1)>",
    "[log](https://phish.test) [a]: javascript:x <a href='javascript:x'>a</a>",
    "http://a.test https://b.test www.c.test WWW.d.test ftp://e.test mailto:f@g.test xmpp:h@i.test",
    "me@mail.test",
    "a|b\\|c\\\\|d\n|:-:|---|\n|ok|1|",
    ":tada: :+1: \u{2705} all good",
    "$\\href{x}{y}$ $$z$$ $`w`$",
    "see[^n]\n\n[^n]: unseen",
    "> [!WARNING]\n> merge at once",
    "ok \u{202e}kcatta\u{202c} \u{2067}x\u{2069}\u{200f}\u{61c}",
    "z\u{200b}w\u{2060}n\u{feff}j\u{200d}\u{ad}",
    "n\u{0}u\u{1b}[2Jl\u{8}l\rcr\r\ncrlf\u{7f}\u{85}\u{9b}31m",
    "title\n===\nother\n---",
    "&lt;b&gt; &#64;someone &amp;",
    "\\<b\\> \\@someone \\",
    "**bold** __b__ _i_ *i* ~~s~~ snake_case_name",
    "before\u{1b}]0;title\nAFTER\u{1b}]52;c;AAAA\u{7}\u{1b}P0;q\u{1b}\\\u{1b}_x\u{1b}\\\u{1b}[?1049h",
    "tab\there \u{fffe}\u{ffff}\u{1fffe}\u{e0041}",
    "]]> <![CDATA[ &unknown; &#0; \" '",
    "::error file=a::b\n##[group]g ##vso[task.complete]t ##teamcity[x] ####[y]",
    "42 is not the plan # SKIP all of it\nBail out!\n1..0\nnot ok 1",
    "---\nkey: [a, b]\n...\n  ...\n\u{2028}x",
    "\u{2028}::set-env name=x::y",
    "-",
    " ",
    "",
];

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(HOSTILE).prop_map(str::to_owned),
        proptest::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
        proptest::sample::select(
            &["@", "#", "<", "&", "`", "_", "\u{1b}", "\u{9d}", "\\", "::"][..]
        )
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

fn is_unseen(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

fn check_xml(text: &str) {
    let (content, value) = (XmlText(text).to_string(), XmlAttribute(text).to_string());
    for xml in [&content, &value] {
        assert!(!xml.contains(['<', '>', '"', '\u{1b}', '\u{fffe}', '\u{ffff}', '\r']), "{xml:?}");
        assert!(xml.chars().all(is_xml), "{xml:?}");
        for (at, _) in xml.match_indices('&') {
            let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#10;", "&#9;"];
            assert!(known.iter().any(|entity| xml[at..].starts_with(entity)), "{xml:?}");
        }
    }
    assert!(!value.contains(['\n', '\t']), "{value:?}");
    let decode = |xml: &str| {
        let xml = xml.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
        let xml = xml.replace("&#10;", "\n").replace("&#9;", "\t");
        xml.replace("&amp;", "&")
    };
    assert_eq!(decode(&content), XmlText::filter(text));
    assert_eq!(decode(&value), XmlText::filter(text));
    let again = XmlText::filter(text).into_owned();
    assert_eq!(XmlText::filter(&again), again, "filtering twice is filtering once");
}

fn check_markdown(text: &str) {
    let markdown = Markdown(text).to_string();
    if markdown.is_empty() {
        return;
    }
    let inside = markdown.strip_prefix("<code>").and_then(|rest| rest.strip_suffix("</code>"));
    let inside = inside.unwrap().replace("&#64;<wbr>", "&#64;");
    let live = ['<', '>', '@', '`', '*', '[', ']', '|', '\\', '~', '$', ':', '\n', '\t', '^'];
    assert!(!inside.contains(live), "{inside:?}");
    assert!(!inside.chars().any(|c| is_unseen(c) || is_joiner(c)), "{inside:?}");
    assert!(!inside.to_lowercase().contains("www."), "{inside:?}");
    for (at, _) in inside.match_indices('&') {
        let end = inside[at..].find(';').unwrap();
        let number = inside[at..at + end].strip_prefix("&#").unwrap();
        assert!(number.bytes().all(|byte| byte.is_ascii_digit()), "{inside:?}");
    }
    let bare = inside.replace("&#", "");
    assert!(!bare.contains('#'), "{inside:?}");
    for (at, _) in inside.match_indices('_') {
        let (before, after) = (inside[..at].chars().next_back(), inside[at + 1..].chars().next());
        let in_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        assert!(in_word(before) && in_word(after), "{inside:?}");
    }
}

fn check_code(text: &str) {
    let block = MarkdownCode::new(text).to_string();
    let (first, rest) = block.split_once('\n').unwrap();
    let fence = first.strip_suffix("text").unwrap();
    assert!(fence.len() >= 3 && fence.bytes().all(|byte| byte == b'`'));
    let inside = rest.strip_suffix(fence).unwrap();
    assert!(inside.is_empty() || inside.ends_with('\n'), "{block:?}");
    assert!(longest_run(inside, '`') < fence.len(), "{block:?}");
    let kept = |c| c == '\n' || c == '\t';
    assert!(!inside.chars().any(|c| is_unseen(c) && !kept(c)), "{block:?}");
}

fn check_terminal(text: &str) {
    let line = Terminal(text).to_string();
    assert!(!line.chars().any(is_unseen), "{line:?}");
    assert!(!line.trim_start().starts_with("::"), "{line:?}");
    for (at, _) in line.match_indices("##") {
        let word = line[at..].trim_start_matches('#');
        let word = word.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        assert!(!word.starts_with('['), "{line:?}");
    }
}

fn check_tap(text: &str) {
    let line = TapText(text).to_string();
    assert!(!line.chars().any(is_unseen), "{line:?}");
    let unescaped = line.replace("\\\\", "").replace("\\#", "");
    assert!(!unescaped.contains(['#', '\\']), "{line:?}");
    let value = YamlString(text).to_string();
    assert!(!value.chars().any(is_unseen), "{value:?}");
    let inside = value[1..value.len() - 1].replace("\\\\", "").replace("\\\"", "");
    assert!(!inside.contains('"'), "{value:?}");
    let block = YamlBlock(text).to_string();
    let mut lines = block.split('\n');
    assert!(matches!(lines.next(), Some("|2+" | "|2-")));
    for line in lines {
        let inside = line.strip_prefix("    ").unwrap();
        assert!(!inside.chars().any(|c| is_unseen(c) && c != '\t'), "{block:?}");
    }
}

fn check_all(text: &str) {
    check_xml(text);
    check_markdown(text);
    check_code(text);
    check_terminal(text);
    check_tap(text);
}

#[test]
fn hostile_texts_are_text_everywhere() {
    for text in HOSTILE {
        check_all(text);
    }
}

/// The project's own collection, where it is at hand.
#[test]
fn the_shared_hostile_texts_are_text_everywhere() {
    #[expect(clippy::disallowed_methods, reason = "a test may look at the disk")]
    let Ok(json) = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../shared/hostile/ci/C02_payloads.json"
    )) else {
        return;
    };
    let payloads: serde_json::Value = serde_json::from_str(&json).unwrap();
    for (_, payload) in payloads["markdown_payloads"].as_object().unwrap() {
        let text = payload.as_str().unwrap();
        check_all(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_text_everywhere(text in hostile()) {
        check_all(&text);
    }
}

#[test]
fn xml_keeps_tabs_and_what_follows_an_unterminated_sequence() {
    assert_eq!(XmlText("a\tb\r\nc\u{1b}]0;x\nAFTER").to_string(), "a\tb\nc\nAFTER");
    assert_eq!(XmlText("\u{0}a\u{fffe}<b>&\"\u{85}").to_string(), "a&lt;b&gt;&amp;&quot;");
    assert_eq!(XmlAttribute("a\tb\nc").to_string(), "a&#9;b&#10;c");
}

#[test]
fn markdown_reads_as_it_was() {
    assert_eq!(
        Markdown("test_adds [a-b] (1.5)").to_string(),
        "<code>test_adds &#91;a-b&#93; (1.5)</code>"
    );
    assert_eq!(Markdown("_x_ @me").to_string(), "<code>&#95;x&#95; &#64;<wbr>me</code>");
    assert_eq!(
        Markdown("https://www.x.test/#1").to_string(),
        "<code>https&#58;//www&#46;x.test/&#35;1</code>"
    );
    assert_eq!(Markdown(" \n").to_string(), "");
    assert_eq!(Markdown("  a \t\n b ").to_string(), "<code>a b</code>");
}

#[test]
fn a_fence_outgrows_what_it_holds() {
    assert_eq!(MarkdownCode::new("x").to_string(), "```text\nx\n```");
    assert_eq!(MarkdownCode::diff("-a\n+````\n").to_string(), "`````diff\n-a\n+````\n`````");
    assert_eq!(MarkdownCode::new("").to_string(), "```text\n```");
}

#[test]
fn a_terminal_shows_what_it_does_not_obey() {
    assert_eq!(
        Terminal("\u{1b}[31mred\u{1b}[0m\u{7}\tx\n").to_string(),
        "red\u{2407}    x\u{240a}"
    );
    assert_eq!(Terminal("ok \u{202e}liaf").to_string(), "ok <U+202E>liaf");
    assert_eq!(Terminal("  ::error::x").to_string(), ": :error::x");
    assert_eq!(Terminal("a::b ##[x] ## y").to_string(), "a::b # #[x] ## y");
    assert_eq!(Terminal("👩\u{200d}🔬 é").to_string(), "👩\u{200d}🔬 é");
}

#[test]
fn tap_escapes_what_starts_a_directive() {
    assert_eq!(TapText("a # TODO\n\\b").to_string(), "a \\# TODO \\\\b");
    assert_eq!(YamlString("a\"\\\n\u{2028}\u{1f}é").to_string(), "\"a\\\"\\\\\\n\\u2028\\u001Fé\"");
    assert_eq!(YamlBlock("  a\n...\n").to_string(), "|2+\n      a\n    ...");
}
