#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "answers/diff/render.h"
#include "render/number_format.h"
#include "render/short_name.h"
#include "render/text_page.h"

namespace headroom {
namespace {

using Kind = TextColumn::Kind;
using Cells = std::vector<std::vector<Span>>;

constexpr double kMinShown = 0.0005;  ///< Smallest change that a table shows, as a share of the
                                      ///< step.

/// Returns green for less time, red for more, and dim for noise.
Style StyleOfChange(const Difference& change) {
  if (change.is_noise()) return Style::kDim;
  return change.delta < 0 ? Style::kGood : Style::kBad;
}

std::string CallsText(double calls) {
  return calls == std::round(calls) ? fmt::format("{:.0f}", calls) : fmt::format("{:.1f}", calls);
}

class DiffText {
 public:
  DiffText(const DiffReport& report, const PageStyle& style)
      : report_(report), diff_(report.diff), page_(style) {}

  /// Returns one screen: the step, reasons why A and B are not comparable, and the parts of the
  /// change.
  std::string Summary() {
    const bool changed = diff_.step_changed();
    page_.Paragraph(!changed               ? "No change beyond noise: "
                    : diff_.step.delta < 0 ? "B is faster: "
                                           : "B is slower: ",
                    StepSentence(diff_) + ".",
                    !changed               ? Style::kBold
                    : diff_.step.delta < 0 ? Style::kGood
                                           : Style::kBad);
    if (diff_.corrected) {
      page_.Paragraph(
          "Without the profiler: ",
          fmt::format("{} -> {} ({}).", MsText(diff_.corrected->a), MsText(diff_.corrected->b),
                      ChangePctText(diff_.corrected->a, diff_.corrected->b)));
    }
    page_.Paragraph("  A  ", Shown(fmt::format("{}, {}", SideText(diff_.a), diff_.a.verdict)),
                    Style::kDim, Style::kDim);
    page_.Paragraph("  B  ", Shown(fmt::format("{}, {}", SideText(diff_.b), diff_.b.verdict)),
                    Style::kDim, Style::kDim);
    if (!diff_.comparable)
      page_.Paragraph("Not comparable: ", Shown(Differences()) + ".", Style::kWarning);
    if (report_.gate) Gate(*report_.gate);
    page_.Blank();
    constexpr std::size_t kRows = 8;
    Account(kRows);
    page_.Blank();
    page_.Line({{"More: --full (comparability, phases, operators, kernels), --json", Style::kDim}});
    return std::move(page_).Take();
  }

  std::string Render() {
    Head();
    if (report_.gate) Gate(*report_.gate);
    Facts();
    page_.Heading("Parts of the change", "ms per step; the rows sum to the step's change",
                  Style::kDim);
    Account(diff_.account.size());
    Sides();
    Ranks();
    Rows("Operators", "GPU time by operator, ms per step", diff_.operators, Kind::kName);
    Rows("Kernels", "GPU time by kernel, ms per step", diff_.kernels, Kind::kKernel);
    Swaps();
    Rows("Layers", "GPU time by layer, ms per step", diff_.layers, Kind::kName);
    return std::move(page_).Take();
  }

 private:
  std::string Shown(std::string_view text) const { return Printable(text, page_.charset()); }

  void Head() {
    page_.Heading("Change from A to B", "B minus A", Style::kDim);
    page_.Paragraph("  A       ", Shown(SideText(diff_.a)), Style::kBold);
    page_.Paragraph("  B       ", Shown(SideText(diff_.b)), Style::kBold);
    const bool changed = diff_.step_changed();
    page_.Paragraph("  Step    ", StepSentence(diff_), Style::kBold,
                    !changed               ? Style::kPlain
                    : diff_.step.delta < 0 ? Style::kGood
                                           : Style::kBad);
    if (diff_.corrected) {
      page_.Paragraph("          ",
                      fmt::format("without the profiler {} -> {} ({})", MsText(diff_.corrected->a),
                                  MsText(diff_.corrected->b),
                                  ChangePctText(diff_.corrected->a, diff_.corrected->b)));
    }
    page_.Paragraph("          ", NoiseSentence(diff_));
    if (const std::string why = ExplanationSentence(diff_); !why.empty())
      page_.Paragraph("  Why     ", Shown(why), Style::kBold);
    page_.Paragraph("  Verdict ",
                    diff_.a.verdict == diff_.b.verdict
                        ? Shown(fmt::format("both: {}", diff_.a.verdict))
                        : Shown(fmt::format("A: {}; B: {}", diff_.a.verdict, diff_.b.verdict)),
                    Style::kBold);
  }

  void Gate(const GateResult& gate) {
    const Style style = gate.verdict == GateVerdict::kPass   ? Style::kGood
                        : gate.verdict == GateVerdict::kFail ? Style::kBad
                                                             : Style::kWarning;
    page_.Heading("Gate", NameOf(gate.verdict), style);
    if (gate.verdict == GateVerdict::kNotComparable)
      page_.Paragraph("  ", Shown("The runs are " + NotComparableText(diff_) + "."));
    for (const RuleResult& row : gate.rules) {
      const Style of_rule = row.verdict == GateVerdict::kPass   ? Style::kGood
                            : row.verdict == GateVerdict::kFail ? Style::kBad
                                                                : Style::kWarning;
      std::string text = fmt::format("{}: {}", row.rule.text, RuleText(row));
      if (row.measured && !row.why.empty()) text += "; " + row.why;
      page_.Paragraph(fmt::format("  {:<13} ", NameOf(row.verdict)), Shown(text), of_rule);
    }
  }

  void Facts() {
    page_.Heading("Are they comparable?", diff_.comparable ? "yes, by all known facts" : "no",
                  diff_.comparable ? Style::kDim : Style::kWarning);
    std::vector<std::string> same, unknown;
    Cells rows;
    std::vector<std::string> costs;
    for (const ComparedFact& fact : diff_.facts) {
      if (fact.state == FactState::kSame) same.push_back(fact.label);
      if (fact.state == FactState::kUnknown) unknown.push_back(fact.label);
      if (fact.state != FactState::kDifferent) continue;
      rows.push_back({{fact.label, fact.blocks ? Style::kWarning : Style::kPlain},
                      {fact.a},
                      {fact.b},
                      {fact.accepted ? "accepted"
                       : fact.blocks ? fact.name
                                     : ""}});
      if (!fact.cost.empty()) costs.push_back(fmt::format("{}: {}", fact.label, fact.cost));
    }
    if (!rows.empty()) {
      page_.Table({{"different", Kind::kText},
                   {"A", Kind::kName},
                   {"B", Kind::kName},
                   {"for --accept", Kind::kText}},
                  rows);
    }
    for (const std::string& cost : costs)
      page_.Paragraph("  - ", Shown(cost), Style::kDim, Style::kDim);
    const auto list = [&](std::string_view first, const std::vector<std::string>& labels) {
      if (!labels.empty())
        page_.Paragraph(std::string(first), Shown(fmt::format("{}", fmt::join(labels, "; "))),
                        Style::kBold, Style::kDim);
    };
    list("  same     ", same);
    list("  unknown  ", unknown);
  }

  std::string Number(double ms) const { return fmt::format("{:.{}f}", ms, digits_); }
  std::string Change(double ms) const { return fmt::format("{:+.{}f}", ms, digits_); }

  /// Returns the facts that make A and B incomparable.
  std::string Differences() const {
    std::string text;
    for (const ComparedFact& fact : diff_.facts) {
      if (fact.state != FactState::kDifferent || !fact.blocks || fact.accepted) continue;
      text += fmt::format("{}{} ({}, {})", text.empty() ? "" : "; ", fact.label, fact.a, fact.b);
    }
    return text;
  }

  /// Writes the largest `top` parts of the change, and the rest as one row.
  void Account(std::size_t top) {
    std::vector<const AccountRow*> order;
    for (const AccountRow& row : diff_.account) order.push_back(&row);
    if (order.size() > top) {
      std::stable_sort(order.begin(), order.end(), [](const AccountRow* a, const AccountRow* b) {
        return std::abs(a->change_ms()) > std::abs(b->change_ms());
      });
    }
    Cells rows;
    double a = 0, b = 0, rest_a = 0, rest_b = 0;
    const auto add = [&](std::string label, double from, double to, Style style = Style::kPlain) {
      rows.push_back(
          {{std::move(label), style},
           {Number(from), style},
           {Number(to), style},
           {Change(to - from), style},
           {diff_.step.a > 0 ? fmt::format("{:+.1f} %", 100 * (to - from) / diff_.step.a) : "",
            style}});
    };
    for (const AccountRow* row : order) {
      a += row->a_ms;
      b += row->b_ms;
      if (rows.size() < top) {
        add(AccountLabel(*row), row->a_ms, row->b_ms);
      } else {
        rest_a += row->a_ms;
        rest_b += row->b_ms;
      }
    }
    if (order.size() > top)
      add(fmt::format("{} smaller changes", order.size() - top), rest_a, rest_b);
    add("the step (median)", a, b, Style::kBold);
    page_.Table({{"ms per step", Kind::kName}, {"A"}, {"B"}, {"change"}, {"of A's step"}}, rows);
  }

  void Sides() {
    page_.Heading("Phases", "ms per step, mean", Style::kDim);
    Cells rows;
    for (std::size_t i = 0; i < kPhaseNames.size(); ++i) {
      const double a = diff_.a.phases_ms[i], b = diff_.b.phases_ms[i];
      if (a == 0 && b == 0) continue;
      std::string name(kPhaseNames[i]);
      std::replace(name.begin(), name.end(), '_', ' ');
      rows.push_back({{name == "host to device" ? "copy to GPU" : name},
                      {Number(a)},
                      {Number(b)},
                      {Change(b - a)},
                      {ChangePctText(a, b)}});
    }
    for (const auto& [name, label] :
         {std::pair<std::string_view, std::string_view>{"gpu_busy_ms", "GPU busy"},
          {"gpu_idle_ms", "GPU idle"},
          {"gpu_tasks", "GPU tasks per step"},
          {"operators", "operators per step"},
          {"samples_per_s", "samples/s"},
          {"memory_peak_mb", "memory peak, MB"}}) {
      const auto found =
          std::find_if(diff_.figures.begin(), diff_.figures.end(),
                       [&, of = name](const FigureChange& f) { return f.name == of; });
      if (found == diff_.figures.end()) continue;
      const Difference& change = found->change;
      const int digits = name.ends_with("_ms") ? digits_ : 1;
      rows.push_back({{std::string(label)},
                      {fmt::format("{:.{}f}", change.a, digits)},
                      {fmt::format("{:.{}f}", change.b, digits)},
                      {fmt::format("{:+.{}f}", change.delta, digits)},
                      {ChangePctText(change.a, change.b)}});
    }
    page_.Table({{"", Kind::kText}, {"A"}, {"B"}, {"change"}, {"%"}}, rows);
  }

  void Ranks() {
    if (diff_.ranks.empty()) return;
    page_.Heading("Ranks", "ms per step; all other figures are means over the ranks", Style::kDim);
    for (const std::string& sentence : RankSentences(diff_)) page_.Paragraph("  ", Shown(sentence));
    Cells rows;
    const std::vector<RankChange> ranks = RanksByChange(diff_);
    for (const RankChange& rank : ranks) {
      if (rows.size() == report_.top) break;
      std::vector<Span> cells = {{fmt::format("{}", rank.rank)}};
      const auto add = [&](auto figure) {
        for (const std::optional<RankFigures>& side : {rank.a, rank.b}) {
          const std::optional<double> ms = side ? figure(*side) : std::nullopt;
          cells.push_back({ms ? Number(*ms) : ""});
        }
      };
      add([](const RankFigures& r) { return std::optional(r.step_ms); });
      add([](const RankFigures& r) { return std::optional(r.compute_ms); });
      add([](const RankFigures& r) { return std::optional(r.exposed_communication_ms); });
      add([](const RankFigures& r) { return r.waited_ms; });
      rows.push_back(std::move(cells));
    }
    page_.Table({{"rank"},
                 {"step A"},
                 {"B"},
                 {"compute A"},
                 {"B"},
                 {"exposed comm. A"},
                 {"B"},
                 {"waited A"},
                 {"B"}},
                rows);
    if (rows.size() < ranks.size()) {
      page_.Paragraph(
          "  ",
          fmt::format("{} not shown, with a smaller change in compute time; --json has every rank",
                      Plural(static_cast<std::int64_t>(ranks.size() - rows.size()), "rank")),
          Style::kPlain, Style::kDim);
    }
  }

  void Rows(std::string_view title, std::string_view note, const std::vector<RowChange>& all,
            Kind kind) {
    Cells rows;
    std::size_t left_out = 0;
    double rest = 0;
    for (const RowChange& row : all) {
      const bool worth = std::abs(row.ms.delta) >= kMinShown * diff_.step.a;
      if (!worth || rows.size() == report_.top) {
        ++left_out;
        rest += row.ms.delta;
        continue;
      }
      const bool both = row.state == RowChange::State::kChanged;
      rows.push_back(
          {{row.name},
           {both                                  ? Number(row.ms.a)
            : row.state == RowChange::State::kNew ? "new"
                                                  : Number(row.ms.a)},
           {row.state == RowChange::State::kGone ? "gone" : Number(row.ms.b)},
           {Change(row.ms.delta), StyleOfChange(row.ms)},
           {row.calls_a == row.calls_b ? CallsText(row.calls_a)
                                       : CallsText(row.calls_a) + " -> " + CallsText(row.calls_b)},
           {both ? Change(row.by_count_ms) : ""},
           {both ? Change(row.by_time_ms) : ""}});
    }
    if (rows.empty()) return;
    page_.Heading(title, note, Style::kDim);
    page_.Table({{"name", kind}, {"A"}, {"B"}, {"change"}, {"calls"}, {"by count"}, {"by time"}},
                rows);
    if (left_out > 0) {
      page_.Paragraph(
          "  ",
          fmt::format("{} not shown, {} in total; --json has every row",
                      Plural(static_cast<std::int64_t>(left_out), "row"), ChangeMsText(rest)),
          Style::kPlain, Style::kDim);
    }
  }

  void Swaps() {
    std::size_t shown = 0;
    for (const KernelSwap& swap : diff_.swaps) {
      if (shown == report_.top || std::max(swap.gone_ms, swap.fresh_ms) < kMinShown * diff_.step.a)
        continue;
      if (shown++ == 0) {
        page_.Heading("Same operator, other kernel", "most time first", Style::kDim);
      }
      const auto name = [&](const std::vector<std::string>& names) {
        constexpr std::size_t kWidth = 56;
        std::string text =
            CutMiddle(Shown(ReadableKernelName(names.front())), kWidth, page_.charset());
        if (names.size() > 1) text += fmt::format(" and {} more", names.size() - 1);
        return text;
      };
      page_.Line({{fmt::format("  {}", swap.operator_name), Style::kBold},
                  {fmt::format("  {} -> {}", MsText(swap.gone_ms), MsText(swap.fresh_ms))}});
      page_.Line({{"    was  "}, {name(swap.gone), Style::kDim}});
      page_.Line({{"    is   "}, {name(swap.fresh), Style::kDim}});
    }
  }

  const DiffReport& report_;
  const JobDiff& diff_;
  TextPage page_;
  int digits_ = diff_.step.a < 10 ? 3 : 2;  ///< Decimals of milliseconds.
};

}  // namespace

std::string RenderDiffSummary(const DiffReport& report, const PageStyle& style) {
  return DiffText(report, style).Summary();
}

std::string RenderDiffText(const DiffReport& report, const PageStyle& style) {
  return DiffText(report, style).Render();
}

}  // namespace headroom
