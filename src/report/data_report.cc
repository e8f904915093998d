#include "report/data_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "analysis/format.h"
#include "base/statistics.h"
#include "report/json_writer.h"
#include "report/text_page.h"
#include "report/text_sections.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

constexpr double kNsPerMs = 1e6;

/// What a stage is to a reader: names of stages are the program's, the others are ours.
struct StageRow {
  std::string name;
  std::string kind;  ///< "stage", "sample", "collate", "batch", "send", "pin".
  std::int64_t count = 0;
  DurationNs total, own;
  std::optional<DurationNs> cpu;
  double per_sample_us = 0, share_pct = 0;
};

std::int64_t SamplesOf(const LoaderProfile& loader) {
  std::int64_t samples = 0;
  for (const LoaderBatch& batch : loader.batches) samples += batch.sample_count;
  return samples;
}

/// Everything that a batch goes through in the order of what it costs; own times add up to the
/// time of all batches, and what is done to them afterwards.
std::vector<StageRow> StageRows(const LoaderProfile& loader) {
  DurationNs batches, inside;
  for (const LoaderBatch& batch : loader.batches) batches += batch.span.length();
  std::vector<StageRow> rows;
  for (const LoaderStage& stage : loader.stages) {
    StageRow row{.name = stage.is_stage ? stage.name : "",
                 .kind = stage.is_stage ? "stage" : stage.name,
                 .count = stage.count,
                 .total = stage.total,
                 .own = stage.own,
                 .cpu = stage.cpu};
    if (row.kind == "batch") continue;  // What is left of it comes last.
    inside += row.own;
    rows.push_back(std::move(row));
  }
  const auto count = static_cast<std::int64_t>(loader.batches.size());
  const auto add = [&](std::string kind, DurationNs own) {
    if (own.ns() > 0)
      rows.push_back({.name = "",
                      .kind = std::move(kind),
                      .count = count,
                      .total = own,
                      .own = own,
                      .cpu = {}});
  };
  add("batch", std::max(batches - inside, DurationNs()));
  add("send", loader.sending);
  add("pin", loader.pinning);
  const DurationNs all = batches + loader.sending + loader.pinning;
  const std::int64_t samples = std::max<std::int64_t>(SamplesOf(loader), 1);
  for (StageRow& row : rows) {
    constexpr double kNsPerUs = 1e3;
    row.per_sample_us = static_cast<double>(row.own.ns()) / kNsPerUs / static_cast<double>(samples);
    row.share_pct = SharePct(row.own, all);
  }
  std::ranges::stable_sort(rows, std::greater<>(), &StageRow::own);
  return rows;
}

std::string TitleOf(const StageRow& row) {
  if (row.kind == "stage") return row.name;
  if (row.kind == "sample") return "(the dataset itself)";
  if (row.kind == "collate") return "(collate)";
  if (row.kind == "batch") return "(the rest of a batch)";
  if (row.kind == "send") return "(pack for the loop)";
  return row.kind == "pin" ? "(pin)" : fmt::format("({})", row.kind);
}

void WriteSettings(JsonWriter& json, const LoaderProfile& loader) {
  const LoaderSettings& s = loader.settings;
  json.BeginObject();
  json.Key("workers").Integer(s.workers);
  json.Key("prefetch_factor").Integer(s.workers > 0 ? std::optional(s.prefetch) : std::nullopt);
  json.Key("batch_size").Integer(s.batch_size);
  json.Key("dataset_size").Integer(s.dataset_size);
  json.Key("pin_memory").Bool(s.pin);
  json.Key("persistent_workers").Bool(s.persistent);
  json.Key("cpus").Integer(s.cpus);
  json.Key("batches").Integer(static_cast<std::int64_t>(loader.batches.size()));
  json.Key("fetches").Integer(static_cast<std::int64_t>(loader.fetches.size()));
  json.Key("epochs").Integer(loader.epochs);
  json.Key("wait_ms").Milliseconds(loader.Wait());
  json.EndObject();
}

/// How many times as many samples a second; of steps where the batch size is not known.
double SpeedupOf(const LoadingOutcome& outcome, const LoadingModel& recorded) {
  const double recorded_ms = static_cast<double>(recorded.period.ns()) / kNsPerMs;
  if (outcome.samples_per_s > 0 && recorded.batch_size > 0) {
    constexpr double kMsPerS = 1e3;
    return outcome.samples_per_s * recorded_ms / kMsPerS / static_cast<double>(recorded.batch_size);
  }
  return recorded_ms / outcome.mid_ms;
}

void WriteOutcome(JsonWriter& json, const LoadingOutcome& outcome, const LoadingModel& recorded) {
  json.Key("step_ms").BeginObject();
  json.Key("low").Number(outcome.low_ms);
  json.Key("mid").Number(outcome.mid_ms);
  json.Key("high").Number(outcome.high_ms);
  json.EndObject();
  json.Key("speedup").Number(SpeedupOf(outcome, recorded));
  json.Key("samples_per_s")
      .Number(outcome.samples_per_s > 0 ? std::optional(outcome.samples_per_s) : std::nullopt);
  json.Key("wait_ms").Number(outcome.wait_ms);
  json.Key("busy_cpus").Number(outcome.run.busy_cpus);
  json.Key("worker_use").Number(outcome.run.worker_use);
}

void WriteOption(JsonWriter& json, const LoadingOption& option, const LoadingModel& recorded) {
  json.BeginObject();
  json.Key("setting").String(option.name);
  WriteOutcome(json, option.outcome, recorded);
  json.Key("memory_bytes")
      .Number(option.memory_bytes > 0 ? std::optional(option.memory_bytes) : std::nullopt);
  json.Key("oversubscribed").Bool(option.oversubscribed);
  json.EndObject();
}

void WriteProbe(JsonWriter& json, const DataReport& report) {
  if (!report.probe) {
    json.Key("probe").Null();
    return;
  }
  const InputProbe& probe = *report.probe;
  const auto time = [&](std::string_view key, const std::optional<ProbedMs>& ms) {
    if (!ms) {
      json.Key(key).Null();
      return;
    }
    json.Key(key).BeginObject();
    json.Key("low").Number(ms->low);
    json.Key("mid").Number(ms->mid);
    json.Key("high").Number(ms->high);
    json.Key("count").Integer(static_cast<std::int64_t>(ms->count));
    json.EndObject();
  };
  json.Key("probe").BeginObject(Layout::kLines);
  time("step_ms", probe.step);
  time("loop_ms", probe.loop);
  time("loader_cost_ms", probe.loader_cost);
  time("loader_ms", probe.loader);
  time("again_ms", probe.again);
  time("storage_ms", probe.storage);
  json.Key("storage_is_clear").Bool(probe.storage_is_clear);
  json.Key("limit_ms").Number(probe.LimitMs());
  json.Key("doubts").BeginArray(Layout::kLines);
  for (const std::string& doubt : probe.doubts) json.String(doubt);
  json.EndArray();
  json.EndObject();
}

void WriteForecast(JsonWriter& json, const DataReport& report) {
  if (!report.model) {
    json.Key("forecast").Null();
    json.Key("no_forecast").String(report.no_forecast);
    return;
  }
  const double recorded_ms = static_cast<double>(report.model->period.ns()) / kNsPerMs;
  json.Key("forecast").BeginObject(Layout::kLines);
  json.Key("simulated_step_ms").Number(recorded_ms / report.correction);
  json.Key("correction").Number(report.correction);
  json.Key("cores").Number(report.model->machine.cores);
  json.Key("ideal").BeginObject();
  WriteOutcome(json, report.search.ideal, *report.model);
  json.EndObject();
  json.Key("best").String(report.search.options[report.search.best].name);
  json.Key("cheapest").String(report.search.options[report.search.cheapest].name);
  const auto rows = [&](std::string_view key, const std::vector<LoadingOption>& options) {
    json.Key(key).BeginArray(Layout::kLines);
    for (const LoadingOption& option : options) WriteOption(json, option, *report.model);
    json.EndArray();
  };
  rows("asked", report.asked);
  rows("options", report.search.options);
  json.EndObject();
  json.Key("no_forecast").Null();
}

std::string Ms(double ms) { return FormatMs(DurationNs(std::llround(ms * kNsPerMs))); }

std::string WithShare(DurationNs part, DurationNs whole) {
  return fmt::format("{} ({})", FormatMs(part), FormatPercent(SharePct(part, whole)));
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
    case LoadingBound::kHandover:
      return "hand-over";
    case LoadingBound::kUnknown:
      break;
  }
  return "unknown";
}

std::string BoundSentence(const DataReport& report) {
  const LoaderSettings& settings = report.loaders.front().settings;
  const bool workers = settings.workers > 0;
  switch (report.split.bound) {
    case LoadingBound::kNone:
      return "Batches are there when the loop asks for them: another loader buys next to nothing.";
    case LoadingBound::kFetch:
      return fmt::format(
          "{} mostly waits for files, a network or a lock: read less, closer or "
          "earlier; more workers help as long as the storage gives more to more.",
          workers ? "A worker" : "The loop");
    case LoadingBound::kPreparation:
      return workers ? "Workers compute nearly all the time: more of them help while there are "
                       "cores, then only a cheaper stage or a cache does."
                     : "The loop prepares its batches itself, one after the other with its steps: "
                       "workers do it beside them.";
    case LoadingBound::kCores:
      return "Workers could compute and have no core: fewer threads, more cores or a cheaper "
             "stage; more workers make it worse.";
    case LoadingBound::kHandover:
      return "Batches are ready, but taking them over takes its time: fewer and larger tensors a "
             "batch, or pinning in a thread of its own.";
    case LoadingBound::kUnknown:
      break;
  }
  return "What workers spend their time on was not recorded.";
}

void WriteStages(TextPage& page, const LoaderProfile& loader) {
  page.Heading("Stages", "of a sample", Style::kDim);
  page.Paragraph("  ",
                 "Where preparation goes, without the stages inside. running: share of that time "
                 "on a core; the rest waits for files, locks or a core.",
                 Style::kPlain, Style::kDim);
  const std::vector<StageRow> rows = StageRows(loader);
  WriteTable<StageRow>(
      page, rows,
      {{"stage", Kind::kName, [](const StageRow& r) { return Span{TitleOf(r)}; }},
       {"a sample", Kind::kNumber,
        [](const StageRow& r) {
          return Span{Ms(r.per_sample_us / 1e3), Style::kBold};
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
  for (const auto& [what, time] : {std::pair("a step as ever", &probe.step),
                                   std::pair("a step with the last batch again", &probe.loop),
                                   std::pair("a batch of the loader alone", &probe.loader),
                                   std::pair("the same samples again", &probe.again)}) {
    if (*time) rows.push_back({what, &**time});
  }
  WriteTable<Row>(page, rows,
                  {{"", Kind::kText, [](const Row& r) { return Span{std::string(r.what)}; }},
                   {"mean", Kind::kNumber,
                    [](const Row& r) {
                      return Span{Ms(r.time->mid), Style::kBold};
                    }},
                   {"95 % interval", Kind::kNumber,
                    [](const Row& r) {
                      return Span{fmt::format("{} to {}", Ms(r.time->low), Ms(r.time->high))};
                    }},
                   {"times", Kind::kNumber,
                    [](const Row& r) { return Span{fmt::format("{}", r.time->count)}; }}});
  if (probe.loader_cost) {
    page.Paragraph(
        "  ", fmt::format("The loader costs {} of a step ({} to {}).", Ms(probe.loader_cost->mid),
                          Ms(probe.loader_cost->low), Ms(probe.loader_cost->high)));
  }
  if (probe.storage) {
    page.Paragraph(
        "  ",
        probe.storage_is_clear
            ? fmt::format("Reading from storage takes {} of a batch ({} to {}).",
                          Ms(probe.storage->mid), Ms(probe.storage->low), Ms(probe.storage->high))
            : fmt::format("Reading from storage takes {} of a batch at most, if anything.",
                          Ms(probe.storage->high)));
  }
  if (const std::optional<double> limit = probe.LimitMs()) {
    page.Paragraph("  ", fmt::format("With these workers no step gets below {}: the slowest of "
                                     "loop, preparation and storage.",
                                     Ms(*limit)));
  }
  for (const std::string& doubt : probe.doubts) page.Paragraph("  - ", doubt + ".");
}

void WriteOptions(TextPage& page, const DataReport& report) {
  struct Row {
    const LoadingOption* option;
    std::string note;
  };
  std::vector<Row> rows;
  const auto& options = report.search.options;
  for (const LoadingOption& option : report.asked) rows.push_back({&option, "asked for"});
  for (std::size_t i = 0; i < options.size(); ++i) {
    const LoadingChange& change = options[i].change;
    const bool is_recorded =
        change.workers == report.model->setting.workers &&
        (change.workers == 0 || change.prefetch == report.model->setting.prefetch);
    const bool chosen = i == report.search.cheapest;
    rows.push_back({&options[i], is_recorded ? "as recorded" : chosen ? "enough" : ""});
  }
  page.Heading("What other settings would buy",
               fmt::format("simulated from {} batches", report.model->batches.size()), Style::kDim);
  WriteTable<Row>(
      page, rows,
      {{"setting", Kind::kText, [](const Row& r) { return Span{r.option->name}; }},
       {"step", Kind::kNumber,
        [](const Row& r) {
          return Span{Ms(r.option->outcome.mid_ms), Style::kBold};
        }},
       {"interval", Kind::kNumber,
        [](const Row& r) {
          return Span{
              fmt::format("{} to {}", Ms(r.option->outcome.low_ms), Ms(r.option->outcome.high_ms))};
        }},
       {"speed", Kind::kNumber,
        [&](const Row& r) {
          return Span{fmt::format("{:.2f} x", SpeedupOf(r.option->outcome, *report.model))};
        }},
       {"samples/s", Kind::kNumber,
        [](const Row& r) {
          return Span{r.option->outcome.samples_per_s > 0
                          ? fmt::format("{:.4g}", r.option->outcome.samples_per_s)
                          : ""};
        }},
       {"", Kind::kText, [](const Row& r) {
          const bool both = !r.note.empty() && r.option->oversubscribed;
          return Span{r.note + (both ? ", " : "") + (r.option->oversubscribed ? "crowded" : ""),
                      Style::kDim};
        }}});
  if (std::ranges::any_of(rows, [](const Row& r) { return r.option->oversubscribed; })) {
    page.Paragraph("  ", "crowded: more threads want to run than there are cores.", Style::kPlain,
                   Style::kDim);
  }
  const LoadingOption& enough = options[report.search.cheapest];
  page.Paragraph("  ",
                 fmt::format("Were every batch there at once, a step would take {}. The "
                             "cheapest setting within 2 % of the best one is {}{}.",
                             Ms(report.search.ideal.mid_ms), enough.name,
                             enough.memory_bytes > 0 ? fmt::format(" ({} of batches under way)",
                                                                   FormatBytes(enough.memory_bytes))
                                                     : ""));
  page.Paragraph(
      "  ",
      fmt::format("Check: the recorded setting simulates to {}, and took {}.",
                  Ms(static_cast<double>(report.model->period.ns()) / kNsPerMs / report.correction),
                  FormatMs(report.model->period)),
      Style::kPlain, Style::kDim);
  if (report.model->pickling_guessed) {
    page.Paragraph("  - ",
                   "The recorded loop prepares its batches itself: what it costs to hand them from "
                   "worker to loop is a rough guess. A recording with one worker tells it.");
  }
  if (report.model->storage_guessed) {
    page.Paragraph(
        "  - ",
        "Batches wait for files: whether the storage gives more to more workers is not "
        "known, and the intervals hold both. storage=N says how many it serves at once.");
  }
  if (report.model->machine_guessed)
    page.Paragraph("  - ", "The number of cores was not recorded: cores=N says it.");
}

}  // namespace

std::string RenderDataJson(const DataReport& report) {
  const LoadingSplit& split = report.split;
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.data/1");
  json.Key("path").String(report.path);
  json.Key("bound").String(NameOf(split.bound));
  json.Key("loop").BeginObject();
  json.Key("step_ms").Milliseconds(split.period);
  json.Key("wait_ms").Milliseconds(split.wait);
  json.Key("wait_share_pct").Number(100 * split.wait_share);
  json.Key("exposed_wait_ms").Milliseconds(report.exposed);
  json.Key("handover_ms").Milliseconds(split.handover);
  json.Key("ready_batches").Number(split.ready);
  json.Key("epoch_start_ms").Milliseconds(split.epoch_start);
  json.EndObject();
  json.Key("batch").BeginObject();
  json.Key("prepare_ms").Milliseconds(split.batch);
  json.Key("cpu_ms").Milliseconds(split.cpu);
  json.Key("blocked_ms").Milliseconds(split.blocked);
  json.Key("queued_ms").Milliseconds(split.queued);
  json.Key("called_bytes").Number(split.called_bytes);
  json.Key("read_bytes").Number(split.read_bytes);
  json.Key("workers_busy_share").Number(split.workers_busy);
  json.EndObject();
  json.Key("stages").BeginArray(Layout::kLines);
  for (const StageRow& row : StageRows(report.loaders.front())) {
    json.BeginObject();
    json.Key("name").StringOrNull(row.name);
    json.Key("kind").String(row.kind);
    json.Key("count").Integer(row.count);
    json.Key("total_ms").Milliseconds(row.total);
    json.Key("own_ms").Milliseconds(row.own);
    json.Key("cpu_ms").Milliseconds(row.cpu);
    json.Key("per_sample_us").Number(row.per_sample_us);
    json.Key("share_pct").Number(row.share_pct);
    json.EndObject();
  }
  json.EndArray();
  json.Key("workers").BeginArray(Layout::kLines);
  for (const LoaderWorker& worker : report.loaders.front().workers) {
    json.BeginObject();
    json.Key("pid").String(worker.pid);
    json.Key("busy_ms").Milliseconds(worker.busy);
    json.Key("idle_ms").Milliseconds(worker.waiting);
    json.Key("starting_ms").Milliseconds(worker.starting);
    json.EndObject();
  }
  json.EndArray();
  json.Key("loaders").BeginArray(Layout::kLines);
  for (const LoaderProfile& loader : report.loaders) WriteSettings(json, loader);
  json.EndArray();
  json.Key("failures").BeginArray(Layout::kLines);
  for (const std::string& failure : report.loaders.front().failures) json.String(failure);
  json.EndArray();
  WriteProbe(json, report);
  WriteForecast(json, report);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

std::string RenderDataText(const DataReport& report, bool color, Charset charset) {
  TextPage page(color, charset);
  const LoaderProfile& loader = report.loaders.front();
  const LoadingSplit& split = report.split;
  page.Heading(fmt::format("Input pipeline: {}", BoundTitle(split.bound)), "", Style::kPlain);
  if (split.period.ns() > 0) {
    page.Paragraph("  ", fmt::format("The loop waits {} of each {} step for its batch.",
                                     WithShare(split.wait, split.period), FormatMs(split.period)));
    page.Paragraph("  ", BoundSentence(report));
  } else {
    page.Paragraph("  ",
                   "No step was recorded from one batch to the next: record more of the run.");
  }
  const auto line = [&](std::string_view head, std::string_view text) {
    page.Paragraph(fmt::format("  {:<9}", head), text, Style::kDim);
  };
  const LoaderSettings& s = loader.settings;
  std::string settings =
      s.workers == 0 ? "no workers: the loop prepares each batch itself"
                     : fmt::format("{}, {} a worker ahead", Plural(s.workers, "worker"),
                                   (s.prefetch == 1 ? std::string("1 batch")
                                                    : fmt::format("{} batches", s.prefetch)));
  if (s.batch_size) settings += fmt::format(", batches of {}", *s.batch_size);
  if (s.dataset_size) settings += fmt::format(" from {} samples", FormatCount(*s.dataset_size));
  if (s.pin) settings += ", pinned";
  if (s.persistent) settings += ", persistent";
  if (s.cpus) settings += fmt::format("; {}", Plural(*s.cpus, "core"));
  line("loader", settings);
  if (split.cpu) {
    line("a batch", fmt::format("{} to prepare: {} computing, {} blocked, {} without a core",
                                FormatMs(split.batch), WithShare(*split.cpu, split.batch),
                                WithShare(*split.blocked, split.batch),
                                WithShare(*split.queued, split.batch)));
  } else {
    line("a batch", fmt::format("{} to prepare", FormatMs(split.batch)));
  }
  if (split.called_bytes && *split.called_bytes > 0) {
    line("files", fmt::format("{} read a batch, {} of it from storage, the rest was in memory",
                              FormatBytes(*split.called_bytes),
                              FormatBytes(std::min(*split.read_bytes, *split.called_bytes))));
  }
  if (s.workers > 0) {
    line("queue", fmt::format("{:.1f} batches ready when the loop asks; workers are busy {} of "
                              "their time; taking a batch over takes {}",
                              split.ready, FormatPercent(100 * split.workers_busy),
                              FormatMs(split.handover)));
  }
  if (split.epoch_start.ns() > 0) {
    line("epochs", fmt::format("{} to begin one, {} of them", FormatMs(split.epoch_start),
                               FormatCount(loader.epochs)));
  }
  if (report.exposed) line("GPU", fmt::format("feels {} of the wait", FormatMs(*report.exposed)));
  for (const std::string& failure : loader.failures) line("failed", failure);
  if (report.loaders.size() > 1) {
    line("others",
         fmt::format("{} with other settings; this is the one that the loop waits for "
                     "longest (--json has all)",
                     Plural(static_cast<std::int64_t>(report.loaders.size()) - 1, "loader")));
  }
  WriteStages(page, loader);
  if (report.probe) WriteProbe(page, *report.probe);
  if (report.model) {
    WriteOptions(page, report);
  } else {
    page.Heading("What other settings would buy", "", Style::kPlain);
    page.Paragraph("  ", fmt::format("Not known: {}.", report.no_forecast));
  }
  return std::move(page).Take();
}

}  // namespace headroom
