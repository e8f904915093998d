#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "ingest/nsight/tables.h"

namespace headroom::nsight {

using sqlite::NamedColumns;
using sqlite::RowScan;

namespace {

/// Returns the first 40 characters of a text in the export, reduced to letters, digits, dots and
/// hyphens.
std::string PlainWord(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string word(text.substr(0, kLongest));
  std::erase_if(word, [](char c) { return !(IsDigit(c) || IsLetter(c) || c == '.' || c == '-'); });
  return word;
}

/// Reads which CUDA ordinal each process uses for a GPU.
void ReadCudaDevices(Reading& reading) {
  static constexpr NamedColumns kColumns{"gpuId", "cudaId", "pid"};
  reading.ForEach("TARGET_INFO_CUDA_DEVICE", kColumns, 2, [&](const RowScan& row) {
    const std::int64_t gpu = row.Integer(kColumns["gpuId"], kUnknown);
    const std::int64_t ordinal = row.Integer(kColumns["cudaId"], kUnknown);
    if (gpu != kUnknown && ordinal != kUnknown)
      reading.tracks.MapDevice(row.Integer(kColumns["pid"], 0), ordinal, gpu);
  });
}

void ReadGpus(Reading& reading) {
  static constexpr NamedColumns kColumns{"id",      "name",         "totalMemory",
                                         "smCount", "computeMajor", "computeMinor"};
  reading.ForEach("TARGET_INFO_GPU", kColumns, 1, [&](const RowScan& row) {
    const std::int64_t gpu = row.Integer(kColumns["id"], kUnknown);
    if (gpu == kUnknown) return;
    const auto from = [&](std::int64_t least, int column) {
      const std::int64_t value = row.Integer(column, kUnknown);
      return value >= least ? value : kUnknown;
    };
    Tracks::Properties& properties = reading.tracks.PropertiesOf(gpu);
    if (const StringId name = reading.NameAt(row, kColumns["name"]);
        name.valid() && !reading.store.Text(name).empty())
      properties.name = name;
    properties.memory_bytes = from(1, kColumns["totalMemory"]);
    properties.sm_count = Fit32(from(1, kColumns["smCount"]));
    properties.compute_major = Fit32(from(1, kColumns["computeMajor"]));
    properties.compute_minor = Fit32(from(0, kColumns["computeMinor"]));
  });
}

void ReadClock(Reading& reading) {
  static constexpr NamedColumns kColumns{"utcEpochNs"};
  reading.ForEach("TARGET_INFO_SESSION_START_TIME", kColumns, 1, [&](const RowScan& row) {
    const std::int64_t ns = row.Integer(kColumns["utcEpochNs"], kUnknown);
    if (ns > 0 && ns <= kFurthest) reading.store.metadata.base_time_ns = ns;
  });
}

void ReadVersion(Reading& reading) {
  static constexpr NamedColumns kColumns{"name", "value"};
  std::string version, schema;
  const auto keep = [&](const RowScan& row) {
    const std::string_view name = row.Text(kColumns["name"]);
    if (name == "EXPORT_PRODUCT_VERSION") version = PlainWord(row.Text(kColumns["value"]));
    if (name == "EXPORT_SCHEMA_VERSION") schema = PlainWord(row.Text(kColumns["value"]));
  };
  reading.ForEach("META_DATA_EXPORT", kColumns, 2, keep);
  reading.ForEach("EXPORT_META_DATA", kColumns, 2, keep);
  if (version.empty() && schema.empty()) return;
  std::string says = "exported by Nsight Systems";
  if (!version.empty()) says += " " + version;
  if (!schema.empty()) says += fmt::format(", schema {}", schema);
  reading.store.log.Add(ImportIssue::kRecorder, -1, std::move(says));
}

}  // namespace

void ReadTexts(Reading& reading) {
  static constexpr NamedColumns kColumns{"id", "value"};
  reading.ForEach("StringIds", kColumns, 2, [&](const RowScan& row) {
    const std::int64_t id = row.Integer(kColumns["id"], kUnknown);
    if (id != kUnknown && row.IsText(kColumns["value"]))
      reading.texts.Set(id, row.Text(kColumns["value"]));
  });
}

void ReadTarget(Reading& reading) {
  ReadCudaDevices(reading);
  ReadGpus(reading);
  ReadClock(reading);
  ReadVersion(reading);
}

void ReadNames(Reading& reading) {
  static constexpr NamedColumns kThread{"globalTid", "nameId"};
  reading.ForEach("ThreadNames", kThread, 2, [&](const RowScan& row) {
    if (const StringId name = reading.NameAt(row, kThread["nameId"]); name.valid())
      reading.tracks.NameThread(row.Integer(kThread["globalTid"], kUnknown), name);
  });
  static constexpr NamedColumns kProcess{"globalPid", "pid", "name"};
  reading.ForEach("PROCESSES", kProcess, 0, [&](const RowScan& row) {
    const std::int64_t global = row.Integer(kProcess["globalPid"], kUnknown);
    const std::int64_t pid = global == kUnknown ? -1 : PidOf(global);
    if (const StringId name = reading.NameAt(row, kProcess["name"]); name.valid())
      reading.tracks.NameProcess(row.Integer(kProcess["pid"], pid), name);
  });
}

}  // namespace headroom::nsight
