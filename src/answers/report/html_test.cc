#include "answers/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headroom {
namespace html_report_test {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kIndex =
    "<!doctype html>\n<html><head>\n<meta charset=\"utf-8\" />\n"
    "<script type=\"module\" crossorigin src=\"./app.js\"></script>\n"
    "<link rel=\"stylesheet\" crossorigin href=\"./app.css\">\n</head>"
    "<body><div id=\"app\"></div></body></html>\n";

std::vector<NamedText> Page(std::string_view script) {
  return {{"ui/dist/app.css", "a{}"}, {"ui/dist/app.js", script}, {"ui/dist/index.html", kIndex}};
}

std::string Render(std::vector<PageAnswer> answers) {
  const Result<std::string> html = RenderHtml(Page("run()"), answers);
  return html.ok() ? html.value() : html.status().message();
}

/// Returns the answers that the page finds in its file.
std::string AnswersIn(const std::string& html) {
  const std::string begin = "id=\"answers\">";
  const std::size_t first = html.find(begin) + begin.size();
  return html.substr(first, html.find("</script>", first) - first);
}

TEST(HtmlReportTest, AllIsInside) {
  const std::string html = Render({{"report", "{}"}});
  EXPECT_THAT(html, HasSubstr("<style>a{}</style>"));
  EXPECT_THAT(html, HasSubstr("<script type=\"module\">run()</script>"));
  for (const char* gone : {"src=", "href=", "app.js", "app.css", "crossorigin"})
    EXPECT_THAT(html, Not(HasSubstr(gone)));
}

TEST(HtmlReportTest, ThePolicyNamesScriptAndStyleByTheirHashes) {
  const std::string html = Render({});
  // Computed with printf 'run()' | openssl dgst -sha256 -binary | base64, and likewise for 'a{}'.
  EXPECT_THAT(html, HasSubstr("script-src 'sha256-AvyuiL0SD1mVY3NNxR+V2uo+lhk6RMFrytWmRt6CrJQ=';"));
  EXPECT_THAT(html, HasSubstr("style-src 'sha256-X1RutGBrXCt9KkSaXMK7tHftWiRscFHOhxsS8tv8hBk=';"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(HasSubstr("unsafe")));
  EXPECT_LT(html.find("Content-Security-Policy"), html.find("<style>"));
}

TEST(HtmlReportTest, AnswersAreFoundByWhatIsAsked) {
  const nlohmann::json answers = nlohmann::json::parse(
      AnswersIn(Render({{"report", "{\"a\": 1}\n"}, {"whatif?scenario=a%2Bb", "[]"}})));
  EXPECT_EQ(answers["report"]["a"], 1);
  EXPECT_TRUE(answers["whatif?scenario=a%2Bb"].is_array());
}

TEST(HtmlReportTest, NamesDoNotBreakOut) {
  const std::string name = "</script><script>alert(1)</script><!--<script>\u2028\u2029]]>";
  const std::string html = Render({{"report", nlohmann::json(name).dump()}});
  const std::string inside = AnswersIn(html);
  for (const char* live : {"<", "\u2028", "\u2029"}) EXPECT_THAT(inside, Not(HasSubstr(live)));
  EXPECT_EQ(nlohmann::json::parse(inside)["report"], name);
}

TEST(HtmlReportTest, APageThatCannotBeInside) {
  for (const char* script : {"'</script>'", "'<!--'"})
    EXPECT_FALSE(RenderHtml(Page(script), {}).ok()) << script;
  EXPECT_FALSE(RenderHtml({}, {}).ok());
}

}  // namespace html_report_test
}  // namespace headroom
