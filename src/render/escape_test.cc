#include "render/escape.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace headroom {
namespace escape_test {

TEST(Printable, ShowsWhatWouldActOnTheTerminal) {
  EXPECT_EQ(Printable("aten::mm"), "aten::mm");
  EXPECT_EQ(Printable("\x1b[31mred\x1b[0m\a"), "\\x1b[31mred\\x1b[0m\\x07");
  EXPECT_EQ(Printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(Printable(std::string_view("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(Printable("right\u202eleft\u200b\ufeff"), "right\\u202eleft\\u200b\\ufeff");
  EXPECT_EQ(Printable("\u0085\u009b\x7f"), "\\x85\\x9b\\x7f");
  EXPECT_EQ(Printable("tag\U000E0041"), "tag\\U000e0041");
  EXPECT_EQ(Printable("schön \u4f60"), "schön \u4f60");
  EXPECT_EQ(Printable("schön \u4f60", Charset::kAscii), "sch\\xf6n \\u4f60");
}

TEST(Printable, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(Printable("a\xff"
                      "b"),
            "a\ufffdb");
  EXPECT_EQ(Printable("\xc3"), "\ufffd");
  EXPECT_EQ(Printable("\xc0\xaf"), "\ufffd\ufffd") << "overlong";
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\ufffd\ufffd\ufffd") << "surrogate";
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\ufffd\ufffd\ufffd\ufffd") << "beyond U+10FFFF";
  EXPECT_EQ(Printable("\xff", Charset::kAscii), "\\ufffd");
}

TEST(CutMiddle, FitsAndKeepsBothEnds) {
  EXPECT_EQ(CutMiddle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(CutMiddle("abcdefghijk", 10), "abcde\u2026hijk");
  EXPECT_EQ(CutMiddle("abcdefghijk", 10, Charset::kAscii), "abcd...ijk");
  EXPECT_EQ(CutAround("abcdefghijklmnopqrstuvwxyz", 18, 16, Charset::kUtf8, 6),
            "abcdef\u2026pqrstuvwxyz");
  EXPECT_EQ(CutAround("abcdefghijklmnopqrstuvwxyz", 18, 8, Charset::kUtf8, 6),
            "abcdef\u2026ijklmnopqr\u2026");
  EXPECT_EQ(DisplayWidth("\u4f60\u597d"), 4u);
}

TEST(CutPath, KeepsTheNameOfTheFile) {
  EXPECT_EQ(CutPath("/a/b/name.json", 14), "/a/b/name.json");
  EXPECT_EQ(CutPath("/data/of/mine/name.json", 16), "/data\u2026/name.json");
  EXPECT_EQ(CutPath("/data/of/mine/name.json", 16, Charset::kAscii), "/da.../name.json");
  EXPECT_EQ(CutPath("/data/name.json", 11), "\u2026/name.json");
  EXPECT_EQ(CutPath("/data/a_long_name.json", 10), CutMiddle("/data/a_long_name.json", 10));
  EXPECT_EQ(CutPath("no_path_at_all.json", 10), CutMiddle("no_path_at_all.json", 10));
}

RC_GTEST_PROP(CutProperty, NeverWiderThanAsked, (const std::string& text, bool ascii)) {
  const Charset charset = ascii ? Charset::kAscii : Charset::kUtf8;
  const std::size_t width = *rc::gen::inRange<std::size_t>(16, 60);
  const std::string printable = Printable(text + text + text, charset);
  const std::size_t at = *rc::gen::inRange<std::size_t>(0, printable.size() + 1);
  RC_ASSERT(DisplayWidth(CutMiddle(printable, width, charset)) <= width);
  RC_ASSERT(DisplayWidth(CutPath(printable, width, charset)) <= width);
  RC_ASSERT(DisplayWidth(CutAround(printable, width, at, charset, width / 3)) <= width);
  RC_ASSERT(Printable(CutAround(printable, width, at, charset, width / 3)) ==
            CutAround(printable, width, at, charset, width / 3));
}

TEST(EscapeMarkdown, LeavesNothingAlive) {
  EXPECT_EQ(EscapeMarkdown("a | b"), "a \\| b");
  EXPECT_EQ(EscapeMarkdown("![x](javascript:alert(1))"), "\\!\\[x\\]\\(javascript:alert(1))");
  EXPECT_EQ(EscapeMarkdown("<script>&amp;"), "&lt;script>&amp;amp;");
  EXPECT_EQ(EscapeMarkdown("> a"), "&gt; a");
  EXPECT_EQ(EscapeMarkdown("  > a"), "  &gt; a");
  EXPECT_EQ(EscapeMarkdown("1 ms -> 2 ms"), "1 ms -> 2 ms");
  EXPECT_EQ(EscapeMarkdown("a\nb"), "a\\\\nb");
  EXPECT_EQ(EscapeMarkdown("*x* _y_ `z` ~~w~~ $v$"),
            "\\*x\\* \\_y\\_ \\`z\\` \\~\\~w\\~\\~ \\$v\\$");
  EXPECT_EQ(EscapeMarkdown("@user #1 https://a www.b"),
            "@&#8203;user #&#8203;1 https&#58;//a www\\.b");
  EXPECT_EQ(EscapeMarkdown("see #12 @torvalds GH-3"),
            "see #&#8203;12 @&#8203;torvalds GH-&#8203;3");
  EXPECT_EQ(EscapeMarkdown("#1"), "\\#&#8203;1");
  EXPECT_EQ(EscapeMarkdown("# head"), "\\# head");
  EXPECT_EQ(EscapeMarkdown("- item"), "\\- item");
  EXPECT_EQ(EscapeMarkdown("at::native::a_b 2 + 3"), "at::native::a_b 2 + 3")
      << "readable where it can be";
}

TEST(MarkdownName, IsCodeOnlyWhereNothingCanBreakOut) {
  EXPECT_EQ(MarkdownName("aten::mm"), "`aten::mm`");
  EXPECT_EQ(MarkdownName("reduce_kernel<float>"), "`reduce_kernel<float>`");
  EXPECT_EQ(MarkdownName("<img src=x>"), "`<img src=x>`");
  EXPECT_EQ(MarkdownName("@user #1 [a](b) \\"), "`@user #1 [a](b) \\`");
  EXPECT_EQ(MarkdownName(" x "), " x ");
  EXPECT_EQ(MarkdownName("a|b"), "a\\|b");
  EXPECT_EQ(MarkdownName("`x`"), "\\`x\\`");
  EXPECT_EQ(MarkdownName(""), "");
}

TEST(MarkdownCode, HoldsBackticks) {
  EXPECT_EQ(MarkdownCode("a <b>"), "`a <b>`");
  EXPECT_EQ(MarkdownCode("a `b` ``c"), "``` a `b` ``c ```");
}

TEST(CsvField, Rfc4180AndNoFormulas) {
  EXPECT_EQ(CsvField("plain"), "plain");
  EXPECT_EQ(CsvField("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvField("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(CsvField("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(CsvField("=1+1"), "'=1+1");
  EXPECT_EQ(CsvField("@x"), "'@x");
  for (const char* const number : {"-1.50", "+5", "-3e-7", "-0"})
    EXPECT_EQ(CsvField(number), number);
  for (const char* const text :
       {"-", "+", "+-5", "++5", "-1+2", "-5 ", "+1*cmd()", "-inf", "-nan(x)"})
    EXPECT_EQ(CsvField(text), "'" + std::string(text));
  EXPECT_EQ(CsvField("-x,y"), "\"'-x,y\"");
  EXPECT_EQ(CsvField("\xff"), "\ufffd");
}

TEST(JsonString, EscapesAndReplaces) {
  EXPECT_EQ(JsonString("a\"b\\c\n\x01\x7f"), "\"a\\\"b\\\\c\\n\\u0001\\u007f\"");
  EXPECT_EQ(JsonString("\xff\u00f6"), "\"\ufffd\u00f6\"");
}

TEST(ShellQuote, StandsForTheTextAndNothingElse) {
  EXPECT_EQ(ShellQuote("trace-1.json.gz"), "trace-1.json.gz");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("a b"), "'a b'");
  EXPECT_EQ(ShellQuote("$(touch x); `y` \"z\""), "'$(touch x); `y` \"z\"'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote("~x"), "'~x'");
  EXPECT_EQ(ShellQuote("a\n'\\%"), "\"$(printf 'a\\012\\047\\134\\045')\"");
  EXPECT_EQ(ShellQuote("a\n"), "$'a\\012'");
  EXPECT_EQ(ShellQuote("\u00f6"), "'\u00f6'");
  EXPECT_EQ(ShellQuote("\u00f6", Charset::kAscii), "\"$(printf '\\303\\266')\"");
  EXPECT_EQ(PathArgument("-o"), "./-o");
  EXPECT_EQ(PathArgument("--json x"), "./--json x");
}

/// The oracle is a shell, which must reproduce the original text.
TEST(ShellQuote, AShellGivesItBack) {
  const std::vector<std::string> texts = {"plain",
                                          "a b",
                                          "it's $HOME `id` \\ \"",
                                          "new\nline",
                                          "\x1b[31m\x01\x37",
                                          "\xff\xfe" + std::string("9"),
                                          "*?[a]{b,c}!#~",
                                          "-n\t%d\\",
                                          "line break at the end\n"};
  for (const std::string& text : texts) {
    // The shell reads a here-document, which avoids a second layer of quoting.
    const std::string script =
        fmt::format("printf %s {} | od -An -tx1 | tr -d ' \\n'", ShellQuote(text));
    const std::string shell = text.ends_with('\n') ? "bash" : "sh";
    const std::string command =
        fmt::format("{} <<'headroom-end'\n{}\nheadroom-end\n", shell, script);
    FILE* pipe = popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string got;
    for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) got.push_back(static_cast<char>(c));
    pclose(pipe);
    std::string want;
    for (unsigned char c : text) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", c);
      want += digits;
    }
    EXPECT_EQ(got, want) << script;
  }
}

}  // namespace escape_test
}  // namespace headroom
