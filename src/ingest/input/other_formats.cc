#include "ingest/input/other_formats.h"

#include <string>

#include "base/ascii.h"

namespace headroom {
namespace {

struct OtherFormat {
  std::string_view magic;  ///< First bytes in lower case, after any blanks.
  std::string_view what;
};

constexpr std::string_view kWebPage =
    "a web page; download the file itself (on GitHub: \"Download raw file\")";

constexpr std::string_view kRocprofTable =
    "a rocprof table without host events; pass the trace next to it (rocprof "
    "--hip-trace: results.json), or record with rocprofv3 --output-format json";

constexpr std::string_view kExecutionTrace =
    "a PyTorch execution trace, which has no times; pass the profiler's trace of "
    "the same run, or the output of chakra_trace_link and chakra_converter for both";

constexpr OtherFormat kOtherFormats[] = {
    {"version https://git-lfs",
     "a Git LFS pointer instead of the file; fetch the file: git lfs pull"},
    {"<!doctype html", kWebPage},
    {"<html", kWebPage},
    {"<?xml",
     "an XML document, which servers send instead of a missing file; download the file again"},
    {"\"index\",\"kernelname\"", kRocprofTable},
    {"index,kernelname", kRocprofTable},
    {"\"name\",\"calls\",\"totalduration", kRocprofTable},
    {"\"kind\",\"agent_id\"", kRocprofTable},
    {"\"domain\",\"function\"", kRocprofTable},
    {"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it and name the trace"},
    {"rar!\x1a\x07", "a RAR archive; unpack it and name the trace"},
};

/// Returns the first bytes in lower case, without a byte order mark or leading blanks.
std::string Beginning(std::string_view head) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  constexpr std::size_t kLongestMagic = 48;
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  while (!head.empty() && IsSpace(head.front())) head.remove_prefix(1);
  std::string beginning(head.substr(0, kLongestMagic));
  for (char& c : beginning) c = ToLower(c);
  return beginning;
}

/// Returns true for the JSON of ExecutionTraceObserver. Its first member is `"schema":
/// "1.1.1-chakra.0.0.4"`.
bool IsExecutionTrace(std::string_view beginning) {
  return beginning.starts_with('{') && beginning.find("\"schema\"") != std::string_view::npos &&
         beginning.find("-chakra") != std::string_view::npos;
}

}  // namespace

std::string_view OtherFormatOf(std::string_view head) {
  const std::string beginning = Beginning(head);
  if (IsExecutionTrace(beginning)) return kExecutionTrace;
  for (const OtherFormat& format : kOtherFormats) {
    if (beginning.starts_with(format.magic)) return format.what;
  }
  return {};
}

}  // namespace headroom
