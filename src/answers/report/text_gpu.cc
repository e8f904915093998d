#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "answers/report/phrases.h"
#include "answers/report/text_sections.h"
#include "base/statistics.h"
#include "render/number_format.h"

namespace headroom {
namespace {

void OneGpu(TextContext& c, const GpuTimeRow& row) {
  const auto line = [&](std::string_view name, DurationNs time, std::string_view note) {
    if (time.ns() == 0) return;
    std::vector<Span> spans = {{fmt::format("  {:<16}{:>11}{:>9}  ", name, FormatMs(time),
                                            FormatPercent(SharePct(time, row.span)))}};
    constexpr std::size_t kTaken = 40, kNote = 22;
    const std::size_t width = c.BarWidth(row.communication.ns() != 0 ? kTaken + kNote : kTaken);
    for (Span& span : c.page.Bar(time.ms(), time.ms(), row.span.ms(), width))
      spans.push_back(std::move(span));
    spans.push_back({fmt::format("  {}", note), Style::kDim});
    c.page.Line(spans);
  };
  c.page.Line({{fmt::format("  {:<16}{:>11}", fmt::format("GPU {} span", NumberText(row.device)),
                            FormatMs(row.span))}});
  line("busy", row.busy, "");
  line("compute", row.compute, "");
  line("communication", row.communication,
       row.overlap_communication_pct
           ? fmt::format("{} overlapped", FormatPercent(*row.overlap_communication_pct))
           : "");
  if (row.communication.ns() != 0) line("  exposed", row.exposed_communication, "");
  line("copies and sets", row.memory, "");
  if (row.memory.ns() != 0) line("  exposed", row.exposed_memory, "");
  line("idle", row.idle, "");
}

/// A stream's idle time and its file.
struct IdleEntry {
  const IdleRow* row;
  const TraceReport* file;
  DurationNs total;
};

std::vector<RowColumn<IdleEntry>> IdleColumns(bool single) {
  using Entry = IdleEntry;
  const auto time = [](const char* head, DurationNs IdleRow::*part) {
    return RowColumn<Entry>{head, Kind::kNumber,
                            [=](const Entry& e) { return Span{FormatMs(e.row->*part)}; }};
  };
  const auto share = [](DurationNs IdleRow::*part) {
    return RowColumn<Entry>{
        "share", Kind::kNumber,
        [=](const Entry& e) {
          return Span{e.total.ns() == 0 ? "-" : FormatPercent(SharePct(e.row->*part, e.total))};
        },
        true};
  };
  return {
      {"rank", Kind::kNumber,
       [=](const Entry& e) {
         return Span{single || !e.file->input.rank ? "" : fmt::format("{}", *e.file->input.rank)};
       }},
      {"GPU", Kind::kNumber, [](const Entry& e) { return Span{NumberText(e.row->device)}; }},
      {"stream", Kind::kNumber, [](const Entry& e) { return Span{NumberText(e.row->stream)}; }},
      time("waits for host", &IdleRow::host_wait),
      share(&IdleRow::host_wait),
      time("for kernel", &IdleRow::kernel_wait),
      share(&IdleRow::kernel_wait),
      time("other", &IdleRow::other),
      share(&IdleRow::other),
      {"idle", Kind::kNumber, [](const Entry& e) {
         return Span{FormatMs(e.total), Style::kBold};
       }}};
}

}  // namespace

void WriteGpu(TextContext& c) {
  c.page.Heading("GPU time", "whole trace", Style::kDim);
  c.Meaning(
      "Shows each GPU from its first to its last task. Exposed: while no compute kernel ran; for "
      "copies and sets, while no kernel ran.");
  std::vector<const GpuTimeRow*> rows;
  std::vector<const TraceReport*> files;
  for (const TraceReport& file : c.job.files()) {
    for (const GpuTimeRow& row : file.gpu_time) {
      rows.push_back(&row);
      files.push_back(&file);
    }
  }
  if (rows.empty()) return c.None(c.NoGpuWorkSentence());
  if (rows.size() == 1) return OneGpu(c, *rows.front());
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return files[a]->input.rank < files[b]->input.rank;
  });
  const std::size_t all = rows.size();
  if (all > c.Top()) {
    // With too many GPUs to list, shows only those that idle most.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return rows[a]->idle > rows[b]->idle; });
    order.resize(c.Top());
  }
  const auto in_order = [&](auto& list) {
    auto sorted = list;
    sorted.clear();
    for (const std::size_t i : order) sorted.push_back(list[i]);
    list = std::move(sorted);
  };
  in_order(rows);
  in_order(files);
  std::vector<std::string> heads;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    heads.push_back(
        c.job.single() || !files[i]->input.rank
            ? fmt::format("GPU {}", NumberText(rows[i]->device))
            : fmt::format("rank {} GPU {}", *files[i]->input.rank, NumberText(rows[i]->device)));
  }
  // Rows are figures and columns are GPUs, so any number of GPUs fits.
  constexpr std::size_t kWidestOfFive = 14;
  const bool wide = std::any_of(heads.begin(), heads.end(), [&](const std::string& head) {
    return head.size() > kWidestOfFive;
  });
  const std::size_t across = wide ? 4 : 5;
  for (std::size_t begin = 0; begin < rows.size(); begin += across) {
    const std::size_t end = std::min(begin + across, rows.size());
    std::vector<TextColumn> columns = {{"", Kind::kText}};
    for (std::size_t i = begin; i < end; ++i) columns.push_back({heads[i]});
    std::vector<std::vector<Span>> table;
    const auto add = [&](const char* name, auto&& cell) {
      table.push_back({{name}});
      for (std::size_t i = begin; i < end; ++i) table.back().push_back({cell(*rows[i])});
    };
    add("span", [](const GpuTimeRow& r) { return FormatMs(r.span); });
    add("busy", [](const GpuTimeRow& r) { return FormatMs(r.busy); });
    add("  of the span",
        [](const GpuTimeRow& r) { return FormatPercent(SharePct(r.busy, r.span)); });
    add("compute", [](const GpuTimeRow& r) { return FormatMs(r.compute); });
    add("communication", [](const GpuTimeRow& r) { return FormatMs(r.communication); });
    add("  exposed", [](const GpuTimeRow& r) { return FormatMs(r.exposed_communication); });
    add("  overlapped", [](const GpuTimeRow& r) {
      return r.overlap_communication_pct ? FormatPercent(*r.overlap_communication_pct)
                                         : std::string("-");
    });
    add("copies and sets", [](const GpuTimeRow& r) { return FormatMs(r.memory); });
    add("  exposed", [](const GpuTimeRow& r) { return FormatMs(r.exposed_memory); });
    add("idle", [](const GpuTimeRow& r) { return FormatMs(r.idle); });
    add("  of the span",
        [](const GpuTimeRow& r) { return FormatPercent(SharePct(r.idle, r.span)); });
    c.page.Table(columns, table);
  }
  c.More(rows.size(), all, Section::kGpu);
}

void WriteIdle(TextContext& c) {
  c.page.Heading("Idle causes", "by stream, whole trace", Style::kDim);
  c.Meaning(
      "Shows why a stream was idle. Host: the next task was launched too late. Kernel: it was "
      "queued and waited for other GPU work. Other: its launch is unknown. Other streams may keep "
      "the GPU busy meanwhile.");
  std::vector<IdleEntry> entries;
  for (const TraceReport& file : c.job.files()) {
    for (const IdleRow& row : file.idle)
      entries.push_back({&row, &file, row.host_wait + row.kernel_wait + row.other});
  }
  if (entries.empty()) return c.None(c.NoGpuWorkSentence());
  const std::size_t all = entries.size();
  if (all > c.Top()) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const IdleEntry& a, const IdleEntry& b) { return a.total > b.total; });
    entries.resize(c.Top());
  }
  WriteTable<IdleEntry>(c.page, entries, IdleColumns(c.job.single()));
  c.More(entries.size(), all, Section::kIdle);
}

}  // namespace headroom
