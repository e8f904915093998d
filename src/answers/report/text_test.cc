#include "answers/report/text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "answers/report/markdown.h"
#include "answers/report/report_fixture.h"
#include "answers/test_text.h"

namespace headroom {
namespace text_report_test {

/// Returns a report with `text` in every string, as a hostile trace might contain.
TraceReport Hostile(const std::string& text) {
  TraceReport report = DemoReport();
  report.input.path = report.input.format = text;
  report.input.devices[0].name = report.input.devices[0].compute_capability = text;
  report.steps.marker = report.steps.confidence = text;
  for (HealthIssue& issue : report.health.issues) issue.detail = issue.voids[0] = text;
  report.bottleneck.evidence[0] = report.bottleneck.confidence = text;
  for (CauseRow& row : report.causes) row.name = text;
  for (Finding& finding : report.findings) {
    finding.title = finding.action = finding.evidence[0] = finding.check_section = text;
  }
  for (auto* rows : {&report.kernels, &report.operators, &report.layers}) {
    for (TimeRow& row : *rows) row.name = row.kind = row.bound = row.tensor_cores = text;
  }
  for (ClassRow& row : report.classes) row.name = text;
  for (LineRow& row : report.lines) row.location = text;
  for (SyncRow& row : report.syncs) row.name = row.where = text;
  report.efficiency.device_name = report.efficiency.math_dtype = report.efficiency.mfu_formula =
      report.efficiency.error = text;
  return report;
}

TEST(RenderText, FitsInAllForms) {
  for (Charset charset : {Charset::kUtf8, Charset::kAscii}) {
    TextOptions options;
    options.style.charset = charset;
    for (const TraceReport& report : {DemoReport(), BareReport()}) {
      const std::string text = RenderText(std::vector{report}, options);
      ExpectFits(text);
      if (charset == Charset::kAscii) {
        EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return c > 0; }))
            << "ASCII only";
      }
    }
    std::vector<TraceReport> ranks(9, DemoReport());
    for (std::size_t i = 0; i < ranks.size(); ++i)
      ranks[i].input.rank = static_cast<std::int64_t>(i) + 1'000;
    ExpectFits(RenderText(ranks, options));
  }
}

TEST(RenderText, NoNameBreaksOutOrIsTooWide) {
  const std::string kNames[] = {"\x1b[31mred\x1b[0m\a",
                                "a\nb\r\tc",
                                "right\u202eleft\u200b",
                                "\xff\xfe",
                                std::string(5'000, 'x'),
                                std::string(500, ' '),
                                "\u4f60\u597d\u4e16\u754c\u4f60\u597d\u4e16\u754c",
                                "",
                                "<a,b>(c)::{lambda(d)#1}"};
  for (const std::string& name : kNames) {
    ExpectFits(RenderText(std::vector{Hostile(name)}, TextOptions()));
    for (std::string_view section : kSectionNames) {
      TextOptions options;
      options.only = SectionNamed(section);
      ExpectFits(RenderText(std::vector{Hostile(name + name)}, options));
    }
  }
}

RC_GTEST_PROP(RenderTextProperty, AnyNameFits, (const std::string& name)) {
  for (const std::string& line : LinesOf(RenderText(std::vector{Hostile(name)}, TextOptions()))) {
    RC_ASSERT(DisplayWidth(line) <= PageStyle::kWidth);
    RC_ASSERT(Printable(line) == line);
  }
}

TEST(RenderText, ColourChangesNothingButColour) {
  TextOptions colored;
  colored.style.color = true;
  std::string text = RenderText(std::vector{DemoReport()}, colored);
  EXPECT_NE(text.find("\x1b[1m"), std::string::npos);
  for (std::size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b')) {
    text.erase(at, text.find('m', at) + 1 - at);
  }
  EXPECT_EQ(text, RenderText(std::vector{DemoReport()}, TextOptions()));
}

TEST(RenderText, EachFindingsSectionShowsItsFigure) {
  const TraceReport report = DemoReport();
  for (const Finding& finding : report.findings) {
    TextOptions options;
    options.only = SectionNamed(finding.check_section);
    ASSERT_TRUE(options.only) << finding.check_section;
    EXPECT_NE(RenderText(std::vector{report}, options).find(finding.figure), std::string::npos)
        << finding.figure << " in " << finding.check_section;
  }
}

TEST(RenderText, ASectionAloneIsComplete) {
  TraceReport report = DemoReport();
  for (int i = 0; i < 40; ++i) {
    report.kernels.push_back(report.kernels[4]);
    report.kernels.back().name = "kernel_" + std::to_string(i);
  }
  EXPECT_EQ(RenderText(std::vector{report}, TextOptions()).find("kernel_20"), std::string::npos);
  TextOptions options;
  options.only = Section::kKernels;
  const std::string text = RenderText(std::vector{report}, options);
  EXPECT_NE(text.find("kernel_20"), std::string::npos);
  EXPECT_EQ(text.find("Trace health"), std::string::npos);
  options.top = 3;
  EXPECT_EQ(RenderText(std::vector{report}, options).find("kernel_20"), std::string::npos);
}

TEST(RenderText, EverySectionAnswersWithoutData) {
  for (std::size_t i = 0; i < kSectionNames.size(); ++i) {
    TextOptions options;
    options.only = static_cast<Section>(i);
    EXPECT_GE(LinesOf(RenderText(std::vector{BareReport()}, options)).size(), 2u)
        << kSectionNames[i];
  }
}

TEST(RenderText, WithoutGpuWorkStepsDoNotSpeakOfTheGpu) {
  TraceReport report = DemoReport();
  report.gpu_time.clear();
  for (StepRow& row : report.steps.list) row.gpu_busy = std::nullopt;
  for (Section section : {Section::kSteps, Section::kBreakdown}) {
    TextOptions options;
    options.only = section;
    const std::string text = RenderText(std::vector{report}, options);
    for (const char* word : {"GPU busy", "host late", "queue", "GPU work ends"})
      EXPECT_EQ(text.find(word), std::string::npos) << word << " in\n" << text;
  }
}

TEST(RenderText, AHostOfWhichNothingIsKnownIsNotATableOfZeros) {
  TraceReport report = DemoReport();
  report.gpu_time.clear();
  report.breakdown->step = {};
  report.breakdown->step.other = report.breakdown->wall;
  TextOptions options;
  options.only = Section::kBreakdown;
  const std::string text = RenderText(std::vector{report}, options);
  EXPECT_NE(text.find("Unknown: no range or operator"), std::string::npos) << text;
  EXPECT_EQ(text.find("optimizer  "), std::string::npos) << text;
}

TEST(RenderText, TheLoopAnswersOnBothClocks) {
  TextOptions options;
  options.only = Section::kLoop;
  TraceReport report = DemoReport();
  const std::string text = RenderText(std::vector{report}, options);
  for (const char* words :
       {"busy 29.4 ms (39.8 %) of the 73.9 ms step", "739 us (1.0 %) of the step on the host",
        "the GPU idles 310 us (0.4 %) meanwhile",
        "The most expensive is ModelCheckpoint on the event on_train_batch_end", "108.2 samples/s",
        "  .backward"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " not in\n" << text;
  report.gpu_time.clear();
  const std::string on_host = RenderText(std::vector{report}, options);
  EXPECT_NE(on_host.find("no GPU work was recorded"), std::string::npos);
  EXPECT_EQ(on_host.find("the GPU idles"), std::string::npos);
}

TEST(RenderText, AHintNamesNoFlagThatWasGiven) {
  TextOptions options;
  options.top = 1;
  EXPECT_NE(RenderText(std::vector{DemoReport()}, options).find("for all: --only steps"),
            std::string::npos);
  options.only = Section::kSteps;
  EXPECT_NE(RenderText(std::vector{DemoReport()}, options).find("for all: drop --top"),
            std::string::npos);
}

TEST(RenderText, HealthComesFirstAndTheVerdictIsASentence) {
  const std::string text = RenderText(std::vector{DemoReport()}, TextOptions());
  EXPECT_EQ(text.rfind("Trace health: B", 0), 0u);
  EXPECT_NE(text.find("Host-bound: the GPU idles"), std::string::npos);
  EXPECT_LT(text.find("Bottleneck: host"), text.find("Step time: 73.9 ms"));
}

TEST(RenderText, OfStepsThatAreNotWholeClaimsNothing) {
  TraceReport report = DemoReport();
  report.health.grade = 'C';
  report.health.cut = true;
  for (StepRow& row : report.steps.list) row.lost_tasks = true;
  static_cast<WallSummary&>(report.steps) = {};
  report.breakdown.reset();
  report.ceiling.reset();
  report.causes.clear();
  report.bottleneck = {};
  const std::string text = RenderText(std::vector{report}, TextOptions());
  EXPECT_EQ(text.find("the verdict stands"), std::string::npos);
  EXPECT_EQ(text.find("as fast"), std::string::npos);
  EXPECT_NE(text.find("no step has all its GPU tasks recorded"), std::string::npos);
  EXPECT_NE(text.find("incomplete"), std::string::npos);
  ExpectFits(text);
}

TEST(RenderText, OfABalancedVerdictSaysWhy) {
  TraceReport report = DemoReport();
  report.bottleneck.verdict = Verdict::kBalanced;
  report.bottleneck.balance = "the host holds 19.0 % of it, but less without recording";
  const std::string text = RenderText(std::vector{report}, TextOptions());
  EXPECT_NE(text.find("Balanced: no single cause limits the step (the host holds 19.0 %"),
            std::string::npos);
  EXPECT_EQ(text.find("the largest:"), std::string::npos);
}

TEST(TextPage, ACommandTooLongForALineStaysCopyable) {
  const std::string path = "/data/" + std::string(150, 'p') + "/it's here.json";
  TextPage page{PageStyle()};
  page.Command("     check  ", {"headroom", "report", path, "--only", "idle"});
  const std::string text = std::move(page).Take();
  ExpectFits(text);
  const std::string script =
      text.substr(text.find("headroom") + std::string("headroom report ").size());
  // The shell joins the lines of the command.
  const std::string command = "sh <<'headroom-end'\nprintf '%s\\n' " + script + "\nheadroom-end\n";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string got;
  for (int c = fgetc(pipe); c != EOF; c = fgetc(pipe)) got.push_back(static_cast<char>(c));
  pclose(pipe);
  EXPECT_EQ(got, path + "\n--only\nidle\n") << text;
}

std::string TableOf(const std::vector<TextColumn>& columns,
                    const std::vector<std::vector<Span>>& rows) {
  TextPage page{PageStyle()};
  page.Table(columns, rows);
  return std::move(page).Take();
}

TEST(TextPage, ATableCutsTextBehindItsNumbersAndNoNumber) {
  using Kind = TextColumn::Kind;
  const std::string text(60, 'a');
  EXPECT_EQ(TableOf({{"", Kind::kText}, {"", Kind::kText}, {""}}, {{{text}, {text}, {"1,234"}}}),
            "  " + text + "  " + text + "  1,234\n");
  EXPECT_EQ(TableOf({{""}, {"", Kind::kText}, {"", Kind::kText}}, {{{"1"}, {text}, {text}}}),
            "  1  " + text + "  " + std::string(PageStyle::kWidth - 67, 'a') + "\n");
  const std::string named =
      TableOf({{"name", Kind::kName}, {"n"}}, {{{std::string(200, 'a')}, {std::string(30, '7')}}});
  ExpectFits(named);
  EXPECT_NE(named.find(std::string(30, '7')), std::string::npos);
}

TEST(TextPage, SomethingIsNeverDrawnAsNothing) {
  const TextPage page({.charset = Charset::kAscii});
  const std::vector<Span> bar = page.Bar(0.001, 0.001, 100, 10);
  EXPECT_EQ(bar[0].text, "#");
  EXPECT_EQ(page.Bar(0, 0, 100, 10)[0].text, "");
  EXPECT_EQ(page.Bar(50, 100, 100, 10)[1].text, ".....");
}

TEST(RenderMarkdown, IsCompactAndWhole) {
  const std::string text = RenderMarkdown(std::vector{DemoReport()}, {});
  const std::vector<std::string> lines = LinesOf(text);
  EXPECT_LE(lines.size(), 67u);
  EXPECT_EQ(lines[0], "## Headroom: host");
  EXPECT_NE(text.find("`headroom report traces/gpt2_bs-1.json.gz --only breakdown`"),
            std::string::npos);
}

TEST(RenderMarkdown, CommandsInSentencesStayCode) {
  TraceReport report = DemoReport();
  report.bottleneck.evidence = {"record with `headroom record -- <CMD>`: *all* of it", "a ` alone",
                                "`a|b` and `` too"};
  const std::string text = RenderMarkdown(std::vector{report}, {});
  EXPECT_NE(text.find("- Record with `headroom record -- <CMD>`: \\*all\\* of it\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("- A \\` alone\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\\`a\\|b\\` and \\`\\` too\n"), std::string::npos) << text;
}

TEST(RenderMarkdown, NothingInANameActs) {
  const std::string kNames[] = {"a | b",
                                "<script>alert(1)</script><img src=x>",
                                "![x](javascript:alert(1))",
                                "`tick` **b**",
                                "two\nlines",
                                "a\\|b",
                                "@user #1",
                                std::string(3'000, 'x')};
  for (const std::string& name : kNames) {
    TraceReport report = Hostile(name);
    const std::string text = RenderMarkdown(std::vector{report}, {});
    // Each row of a table has as many cells as its header.
    std::size_t cells = 0;
    for (const std::string& line : LinesOf(text)) {
      EXPECT_EQ(Printable(line), line);
      if (line.empty() || line.front() != '|') {
        cells = 0;
        continue;
      }
      std::size_t here = 0;
      for (std::size_t i = 0; i < line.size(); ++i)
        here += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
      EXPECT_TRUE(cells == 0 || here == cells) << line;
      cells = here;
    }
  }
}

TEST(RenderText, SaysWhatEachStepLeavesBehind) {
  TextOptions options;
  options.only = Section::kMemory;
  const std::string text = RenderText(std::vector{DemoReport()}, options);
  EXPECT_NE(text.find("3.00 GB allocated at most, in step 2"), std::string::npos) << text;
  EXPECT_NE(text.find("each step leaves 64.0 kB more"), std::string::npos) << text;
}

TEST(RenderSummary, IsOneScreenWhateverTheNames) {
  const std::string kNames[] = {
      "trace.json",        std::string(300, 'n'),
      "a b'c\x1b[31m\n\t", "\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e",
      "\xff\xfe",          ""};
  for (const std::string& name : kNames) {
    for (const std::size_t width :
         {PageStyle::kMinWidth, PageStyle::kWidth, PageStyle::kMaxWidth}) {
      for (const Charset charset : {Charset::kUtf8, Charset::kAscii}) {
        TextOptions options;
        options.style = {.charset = charset, .width = width};
        for (const TraceReport& report : {DemoReport(), BareReport(), Hostile(name)}) {
          const std::string text = RenderSummary(std::vector{report}, options);
          EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 24) << text;
          ExpectFits(text, width);
        }
      }
    }
  }
}

TEST(RenderSummary, SaysWhatLimitsTheStepAndWhatToDo) {
  const std::string text = RenderSummary(std::vector{DemoReport()}, {});
  for (const char* words : {"Host-bound: the GPU idles", "GPU busy", "What to do", "1. ",
                            "headroom whatif ", "More: --full"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " not in\n" << text;
}

}  // namespace text_report_test
}  // namespace headroom
