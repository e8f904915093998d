#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "answers/data/render.h"
#include "answers/data/stages.h"
#include "base/statistics.h"
#include "base/units.h"
#include "render/number_format.h"
#include "render/text_page.h"
#include "render/text_table.h"

namespace headroom {
namespace {

std::string TitleOf(const StageRow& row) {
  if (row.kind == "stage") return row.name;
  if (row.kind == "sample") return "(the dataset itself)";
  if (row.kind == "collate") return "(collate)";
  if (row.kind == "batch") return "(the rest of a batch)";
  if (row.kind == "send") return "(pack for the loop)";
  return row.kind == "pin" ? "(pin)" : fmt::format("({})", row.kind);
}

std::string WithShare(DurationNs part, DurationNs whole) {
  return fmt::format("{} ({})", FormatTime(part), FormatPercent(SharePct(part, whole)));
}

std::string_view BoundTitle(LoadingBound bound) {
  switch (bound) {
    case LoadingBound::kNone:
      return "keeps up";
    case LoadingBound::kFetch:
      return "fetching";
    case LoadingBound::kPreparation:
      return "preparation";
    case LoadingBound::kCores:
      return "too few cores";
    case LoadingBound::kThrottled:
      return "a CPU quota";
    case LoadingBound::kTransfer:
      return "transfer to the device";
    case LoadingBound::kHandover:
      return "hand-over";
    case LoadingBound::kUnknown:
      break;
  }
  return "unknown";
}

/// Requires that `report.split` has the times of the parts of a batch's preparation.
std::string ComputingSentence(const LoadingSplit& split) {
  const auto share = [&](DurationNs part) { return SharePct(part, split.batch); };
  constexpr double kWorthSayingPct = 10;
  std::string text = fmt::format("Workers compute for {} of a batch's preparation",
                                 FormatPercent(share(*split.cpu)));
  if (const double blocked = share(*split.blocked); blocked >= kWorthSayingPct)
    text += fmt::format(" and wait for {} (files, network or locks)", FormatPercent(blocked));
  return text + ".";
}

std::string BoundSentence(const DataReport& report) {
  const bool workers = !report.loaders.empty() && report.loaders.front().settings.workers > 0;
  switch (report.split.bound) {
    case LoadingBound::kNone:
      return "Batches are ready when the loop asks for them: a faster loader gains almost nothing.";
    case LoadingBound::kFetch:
      return fmt::format(
          "{} mostly waits for files, a network or a lock: read less data, from closer storage, or "
          "earlier. More workers help as long as the storage scales.",
          workers ? "A worker" : "The loop");
    case LoadingBound::kPreparation:
      return workers ? fmt::format(
                           "{} More workers help while cores are free; after that, only a cheaper "
                           "stage or a cache helps.",
                           ComputingSentence(report.split))
                     : "The loop prepares its batches itself, between its steps: workers would "
                       "prepare them in parallel.";
    case LoadingBound::kCores:
      return "Workers are ready but have no core: use fewer threads, more cores or a cheaper "
             "stage. More workers gain little or nothing.";
    case LoadingBound::kThrottled:
      return "Workers are ready, but the control group's quota throttles them: use a larger quota "
             "or fewer threads.";
    case LoadingBound::kTransfer:
      return "Copies to the device overlap no kernel. pin_memory=True and non_blocking=True hide "
             "them; smaller types on the host shorten them.";
    case LoadingBound::kHandover:
      return "Batches are ready, but receiving them is slow: use fewer, larger tensors per batch, "
             "or pin in a separate thread.";
    case LoadingBound::kUnknown:
      break;
  }
  return "The workers' activity was not recorded.";
}

/// Returns a sentence about the most expensive stage, if preparation limits the loop.
std::string CostliestStage(const DataReport& report) {
  const LoadingBound bound = report.split.bound;
  if (bound == LoadingBound::kNone || bound == LoadingBound::kTransfer ||
      bound == LoadingBound::kHandover)
    return "";
  const std::vector<StageRow> rows = StageRows(report.loaders.front());
  if (rows.empty()) return "";
  return fmt::format(" The most expensive stage is {}: {} per sample, {}.", TitleOf(rows.front()),
                     FormatMs(rows.front().per_sample_us / 1e3),
                     FormatPercent(rows.front().share_pct));
}

void WriteStages(TextPage& page, const LoaderProfile& loader) {
  page.Heading("Stages", "per sample", Style::kDim);
  page.Paragraph("  ",
                 "Preparation time per stage, without inner stages. running: share of that time "
                 "on a core; the rest waits for files, locks or a core.",
                 Style::kPlain, Style::kDim);
  const std::vector<StageRow> rows = StageRows(loader);
  WriteTable<StageRow>(
      page, rows,
      {{"stage", Kind::kName, [](const StageRow& r) { return Span{TitleOf(r)}; }},
       {"per sample", Kind::kNumber,
        [](const StageRow& r) {
          return Span{FormatMs(r.per_sample_us / 1e3), Style::kBold};
        }},
       {"share", Kind::kNumber, [](const StageRow& r) { return Span{FormatPercent(r.share_pct)}; }},
       {"running", Kind::kNumber,
        [](const StageRow& r) {
          return Span{r.cpu ? FormatPercent(std::min(100.0, SharePct(*r.cpu, r.own))) : ""};
        }},
       {"times", Kind::kNumber, [](const StageRow& r) { return Span{FormatCount(r.count)}; }}});
}

void WriteProbe(TextPage& page, const InputProbe& probe) {
  page.Heading("Probes", "in this run (--probe-input)", Style::kDim);
  struct Row {
    std::string_view what;
    const ProbedMs* time;
  };
  std::vector<Row> rows;
  for (const auto& [what, time] : {std::pair("a normal step", &probe.step),
                                   std::pair("a step that reuses the last batch", &probe.loop),
                                   std::pair("a batch from the loader alone", &probe.loader),
                                   std::pair("the same samples again", &probe.again)}) {
    if (*time) rows.push_back({what, &**time});
  }
  WriteTable<Row>(
      page, rows,
      {{"", Kind::kText, [](const Row& r) { return Span{std::string(r.what)}; }},
       {"mean (95 % interval)", Kind::kNumber,
        [](const Row& r) {
          return Span{FormatTimeBetween(r.time->mid, r.time->low, r.time->high), Style::kBold};
        }},
       {"means", Kind::kNumber,
        [](const Row& r) { return Span{fmt::format("{}", r.time->count)}; }}});
  if (probe.loader_cost) {
    page.Paragraph("  ",
                   fmt::format("The loader costs {} of a step.",
                               FormatTimeBetween(probe.loader_cost->mid, probe.loader_cost->low,
                                                 probe.loader_cost->high)));
  }
  if (probe.storage && probe.storage->mid) {
    page.Paragraph("  ", fmt::format("Reading from storage takes {} per batch.",
                                     FormatTimeBetween(*probe.storage->mid, *probe.storage->low,
                                                       probe.storage->high)));
  } else if (probe.storage) {
    page.Paragraph("  ", fmt::format("Reading from storage takes at most {} per batch.",
                                     FormatMs(probe.storage->high)));
  }
  if (const std::optional<double> limit = probe.LimitMs()) {
    page.Paragraph(
        "  ", fmt::format("With these workers, a step takes at least {} even with cached samples: "
                          "the time of the loop or of the preparation, whichever is longer.",
                          FormatMs(*limit)));
  }
  for (const std::string& doubt : probe.doubts) page.Paragraph("  - ", doubt + ".");
}

/// Returns the name without the prefetch factor if that is the recorded one.
std::string ShortName(const LoadingOption& option, const DataReport& report) {
  std::string_view name = option.name;
  const std::string recorded = fmt::format(",prefetch={}", report.model->setting.prefetch);
  if (name.ends_with(recorded)) name.remove_suffix(recorded.size());
  return std::string(name);
}

struct OptionRow {
  const LoadingOption* option;
  std::string note;
};

std::vector<OptionRow> OptionRows(const DataReport& report) {
  std::vector<OptionRow> rows;
  const auto& options = report.search.options;
  const auto is_same = [&](const LoadingOption& asked, const LoadingOption& option) {
    return asked.name == option.name || asked.name == ShortName(option, report);
  };
  for (const LoadingOption& asked : report.asked) {
    // A setting that the search tried has a row below.
    const bool is_tried = std::ranges::any_of(
        options, [&](const LoadingOption& option) { return is_same(asked, option); });
    if (!is_tried) rows.push_back({&asked, "asked for"});
  }
  for (std::size_t i = 0; i < options.size(); ++i) {
    const LoadingChange& change = options[i].change;
    const bool is_asked = std::ranges::any_of(
        report.asked, [&](const LoadingOption& asked) { return is_same(asked, options[i]); });
    const bool is_recorded =
        change.workers == report.model->setting.workers &&
        (change.workers == 0 || change.prefetch == report.model->setting.prefetch);
    std::string note = is_recorded ? "as recorded" : i == report.search.cheapest ? "enough" : "";
    if (is_asked) note.insert(0, note.empty() ? "asked for" : "asked for, ");
    rows.push_back({&options[i], std::move(note)});
  }
  return rows;
}

void WriteOptionTable(TextPage& page, const DataReport& report, std::span<const OptionRow> rows) {
  using Row = OptionRow;
  WriteTable<Row>(
      page, rows,
      {{"setting", Kind::kName, [&](const Row& r) { return Span{ShortName(*r.option, report)}; }},
       {"step", Kind::kNumber,
        [](const Row& r) {
          const auto& outcome = r.option->outcome;
          return Span{FormatTimeBetween(outcome.mid_ms, outcome.low_ms, outcome.high_ms),
                      Style::kBold};
        }},
       {"speedup", Kind::kNumber,
        [&](const Row& r) {
          return Span{FormatFactor(SpeedupOf(r.option->outcome, *report.model))};
        }},
       {"samples/s", Kind::kNumber,
        [](const Row& r) {
          return Span{r.option->outcome.samples_per_s > 0
                          ? FormatNumber(r.option->outcome.samples_per_s)
                          : ""};
        }},
       {"", Kind::kText, [](const Row& r) {
          std::string note = r.note;
          const auto add = [&](bool holds, std::string_view what) {
            if (holds) note += fmt::format("{}{}", note.empty() ? "" : ", ", what);
          };
          add(r.option->oversubscribed, "oversubscribed");
          add(r.option->exceeds_memory, "too much memory");
          return Span{note, Style::kDim};
        }}});
  if (std::ranges::any_of(rows, [](const Row& r) { return r.option->oversubscribed; })) {
    page.Paragraph(
        "  ",
        fmt::format("oversubscribed: more threads want to run than there are cores ({:g}).",
                    report.model->machine.cores),
        Style::kPlain, Style::kDim);
  }
}

void WriteOptions(TextPage& page, const DataReport& report) {
  const auto& options = report.search.options;
  const std::vector<OptionRow> rows = OptionRows(report);
  page.Heading("Forecast of other settings",
               fmt::format("simulated from {} batches", report.model->batches.size()), Style::kDim);
  WriteOptionTable(page, report, rows);
  for (const OptionRow& row : rows) {
    if (!row.option->exceeds_memory) continue;
    page.Paragraph(
        "  ",
        fmt::format("too much memory: {} keeps {} of batches in flight, but only {} was free "
                    "(/dev/shm, machine or control group), so the system would kill workers.",
                    row.option->name, FormatBytes(row.option->memory_bytes),
                    FormatBytes(*report.model->memory_bytes)),
        Style::kPlain, Style::kDim);
    break;
  }
  const LoadingOption& enough = options[report.search.cheapest];
  page.Paragraph("  ",
                 fmt::format("If every batch were ready, a step would take {}. The "
                             "cheapest setting within 2 % of the best one is {}{}.",
                             FormatMs(report.search.ideal.mid_ms), enough.name,
                             enough.memory_bytes > 0 ? fmt::format(" ({} of batches in flight)",
                                                                   FormatBytes(enough.memory_bytes))
                                                     : ""));
  page.Paragraph(
      "  ",
      fmt::format(
          "Check: a step of the recorded setting takes {} in the simulation, {} in the recording.",
          FormatMs(static_cast<double>(report.model->period.ns()) / kNsPerMs / report.correction),
          FormatTime(report.model->period)),
      Style::kPlain, Style::kDim);
  constexpr double kFarOff = 1.25;
  if (std::max(report.correction, 1 / report.correction) > kFarOff) {
    page.Paragraph("  - ",
                   "The simulation is far off, probably because other programs used these cores. "
                   "All forecasts include the effect of those programs and hold only while they "
                   "run. headroom report names the programs on the machine.");
  }
  if (report.model->pickling_guessed) {
    page.Paragraph(
        "  - ",
        "The recorded loop prepares its batches itself, so the cost of passing them from worker to "
        "loop is a rough guess. A recording with one worker measures it.");
  }
  if (report.model->storage_guessed) {
    page.Paragraph("  - ",
                   "Batches wait for storage, network or locks. It is unknown whether more workers "
                   "lengthen these waits; the intervals cover both cases. storage=N sets how many "
                   "workers can wait at once without slowing each other down.");
  }
  if (report.model->machine_guessed)
    page.Paragraph("  - ", "The number of cores was not recorded: cores=N sets it.");
}

void WriteGpu(TextPage& page, const LoadingSplit& split) {
  if (!split.exposed_wait && !split.transfer) return;
  std::string text;
  if (split.exposed_wait)
    text = fmt::format("idles {} per step during that wait", FormatTime(*split.exposed_wait));
  if (split.transfer) {
    text += fmt::format("{}exposed copies take {}", text.empty() ? "" : "; ",
                        FormatTime(*split.transfer));
  }
  page.Paragraph(fmt::format("  {:<9}", "GPU"), text, Style::kDim);
}

/// Writes the report of a trace without a recorded loader.
void WriteLoop(TextPage& page, const DataReport& report) {
  const LoadingSplit& split = report.split;
  const bool waits = split.bound == LoadingBound::kUnknown;
  page.Heading(fmt::format("Input pipeline: {}", waits ? "too slow" : BoundTitle(split.bound)), "",
               Style::kPlain);
  page.Paragraph("  ", fmt::format("The loop waits {} of the mean step ({}) for its batch.",
                                   WithShare(split.wait, split.period), FormatTime(split.period)));
  if (!waits) page.Paragraph("  ", BoundSentence(report));
  WriteGpu(page, split);
  page.Paragraph("  ",
                 "This trace does not show which stage of the loader is slow. headroom record -- "
                 "python train.py records the stages of PyTorch's DataLoader, without a change to "
                 "the program.");
}

/// Returns a few rows, slowest first: the recorded and the requested settings, the cheapest setting
/// that is enough, and the fastest of the others.
std::vector<OptionRow> BestRows(const DataReport& report) {
  constexpr std::size_t kRows = 6;
  std::vector<OptionRow> rows = OptionRows(report);
  std::stable_sort(rows.begin(), rows.end(), [](const OptionRow& a, const OptionRow& b) {
    const bool a_noted = !a.note.empty(), b_noted = !b.note.empty();
    return a_noted != b_noted ? a_noted : a.option->outcome.mid_ms < b.option->outcome.mid_ms;
  });
  if (rows.size() > kRows) rows.resize(kRows);
  std::stable_sort(rows.begin(), rows.end(), [](const OptionRow& a, const OptionRow& b) {
    return a.option->outcome.mid_ms > b.option->outcome.mid_ms;
  });
  return rows;
}

}  // namespace

std::string RenderDataSummary(const DataReport& report, const PageStyle& style) {
  if (report.loaders.empty() || report.probe || !report.model || report.split.period.ns() == 0)
    return RenderDataText(report, style);
  TextPage page(style);
  const LoadingSplit& split = report.split;
  page.Paragraph("",
                 fmt::format("The loop waits {} of each {} step for its batch.",
                             WithShare(split.wait, split.period), FormatTime(split.period)),
                 Style::kPlain, Style::kBold);
  page.Paragraph("", BoundSentence(report) + CostliestStage(report));
  page.Blank();
  WriteOptionTable(page, report, BestRows(report));
  page.Blank();
  page.Paragraph("", fmt::format("If every batch were ready, a step would take {}.",
                                 FormatMs(report.search.ideal.mid_ms)));
  page.Line({{"More: --full (stages, loader, doubts), or a setting: workers=4", Style::kDim}});
  return std::move(page).Take();
}

std::string RenderDataText(const DataReport& report, const PageStyle& style) {
  TextPage page(style);
  if (report.loaders.empty()) {
    WriteLoop(page, report);
    return std::move(page).Take();
  }
  const LoaderProfile& loader = report.loaders.front();
  const LoadingSplit& split = report.split;
  page.Heading(fmt::format("Input pipeline: {}", BoundTitle(split.bound)), "", Style::kPlain);
  if (split.period.ns() > 0) {
    page.Paragraph("  ",
                   fmt::format("The loop waits {} of each {} step for its batch.",
                               WithShare(split.wait, split.period), FormatTime(split.period)));
    page.Paragraph("  ", BoundSentence(report) + CostliestStage(report));
  } else {
    page.Paragraph(
        "  ", "No complete step from one batch to the next was recorded: record a longer run.");
  }
  const auto line = [&](std::string_view head, std::string_view text) {
    page.Paragraph(fmt::format("  {:<9}", head), text, Style::kDim);
  };
  const LoaderSettings& s = loader.settings;
  std::string settings =
      s.workers == 0 ? "no workers: the loop prepares each batch"
                     : fmt::format("{}, {} ahead per worker", Plural(s.workers, "worker"),
                                   (s.prefetch == 1 ? std::string("1 batch")
                                                    : fmt::format("{} batches", s.prefetch)));
  if (s.batch_size) settings += fmt::format(", batches of {}", *s.batch_size);
  if (s.dataset_size) settings += fmt::format(" from {} samples", FormatCount(*s.dataset_size));
  if (s.pin) settings += ", pinned";
  if (s.persistent) settings += ", persistent";
  if (s.cpus) settings += fmt::format("; {}", Plural(*s.cpus, "core"));
  line("loader", settings);
  if (split.cpu) {
    line("batch", fmt::format("{} to prepare: {} computing, {} blocked, {} without a core",
                              FormatTime(split.batch), WithShare(*split.cpu, split.batch),
                              WithShare(*split.blocked, split.batch),
                              WithShare(*split.queued, split.batch)));
  } else {
    line("batch", fmt::format("{} to prepare", FormatTime(split.batch)));
  }
  if (split.called_bytes && *split.called_bytes > 0) {
    line("files", fmt::format("{} read per batch, {} of it from storage, the rest from memory",
                              FormatBytes(*split.called_bytes),
                              FormatBytes(std::min(*split.read_bytes, *split.called_bytes))));
  }
  if (s.workers > 0) {
    line("queue", fmt::format("{:.1f} batches ready when the loop asks; workers are busy {} of "
                              "their time; receiving a batch takes {}",
                              split.ready, FormatPercent(100 * split.workers_busy),
                              FormatTime(split.handover)));
  }
  if (split.epoch_start.ns() > 0) {
    line("epochs", fmt::format("{} to begin each of {}", FormatTime(split.epoch_start),
                               FormatCount(loader.epochs)));
  }
  WriteGpu(page, split);
  if (split.throttled_cores && *split.throttled_cores >= 0.01) {
    line("quota", fmt::format("the control group's quota withheld {:.2g} cores on average",
                              *split.throttled_cores));
  }
  for (const std::string& failure : loader.failures) line("failure", failure);
  if (report.loaders.size() > 1) {
    line("others",
         fmt::format(
             "{} with other settings: the loop waits longest for --loader 1, least for --loader {}",
             Plural(static_cast<std::int64_t>(report.loaders.size()) - 1, "loader"),
             report.loaders.size()));
  }
  WriteStages(page, loader);
  if (report.probe) WriteProbe(page, *report.probe);
  if (report.model) {
    WriteOptions(page, report);
  } else {
    page.Heading("Forecast of other settings", "", Style::kPlain);
    page.Paragraph("  ", fmt::format("Unknown: {}.", report.no_forecast));
  }
  return std::move(page).Take();
}

}  // namespace headroom
