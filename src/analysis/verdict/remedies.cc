#include "analysis/verdict/remedies.h"

#include <fmt/format.h>

#include <string_view>

#include "store/trace_formats.h"
#include "store/trace_store.h"

namespace headroom {
namespace {

/// Remedies for an export of Nsight Systems.
std::string RemedyForNsight(ImportIssue issue) {
  switch (issue) {
    case ImportIssue::kNoGpu:
    case ImportIssue::kNoHost:
    case ImportIssue::kOrphanTask:
      return "nsys profile --trace=cuda,nvtx,osrt, started before the step";
    case ImportIssue::kNoOperators:
      return "nsys profile --pytorch=autograd-nvtx, or torch.autograd.profiler.emit_nvtx() around "
             "the steps";
    case ImportIssue::kNoShapes:
      return "nsys profile --pytorch=autograd-shapes-nvtx, or emit_nvtx(record_shapes=True)";
    case ImportIssue::kNoStacks:
      return "PyTorch's profiler, with with_stack=True";
    case ImportIssue::kNoSteps:
      return "torch.cuda.nvtx.range_push(f\"step {i}\") and range_pop() around each iteration";
    case ImportIssue::kLaunchWithoutTask:
    case ImportIssue::kStepWithoutKernels:
      return "synchronize before the recording ends, or let nsys profile flush more often "
             "(--cuda-flush-interval)";
    case ImportIssue::kTruncated:
      return "copy the file again, or export the report again";
    case ImportIssue::kDroppedRecords:
      return "profile for a shorter time, or let nsys profile flush more often "
             "(--cuda-flush-interval)";
    default:
      return std::string(DocOf(issue).remedy);
  }
}

/// Remedies for a trace of rocprofv3.
std::string RemedyForRocprof(ImportIssue issue) {
  switch (issue) {
    case ImportIssue::kNoGpu:
      return "rocprofv3 --kernel-trace --memory-copy-trace";
    case ImportIssue::kNoHost:
    case ImportIssue::kOrphanTask:
      return "rocprofv3 --hip-trace, started before the step";
    case ImportIssue::kNoOperators:
      return "torch.autograd.profiler.emit_nvtx() around the steps, and rocprofv3 --marker-trace";
    case ImportIssue::kNoShapes:
      return "emit_nvtx(record_shapes=True)";
    case ImportIssue::kNoStacks:
      return "PyTorch's profiler, with with_stack=True";
    case ImportIssue::kNoSteps:
      return "torch.cuda.nvtx.range_push(f\"step {i}\") and range_pop() around each iteration, in "
             "C++ roctxRangePush() and roctxRangePop(), and rocprofv3 --marker-trace";
    case ImportIssue::kLaunchWithoutTask:
    case ImportIssue::kStepWithoutKernels:
      return "synchronize before the recording ends";
    default:
      return std::string(DocOf(issue).remedy);
  }
}

/// Remedies for a profile of JAX or TensorFlow.
std::string RemedyForXla(ImportIssue issue, std::string_view format) {
  switch (issue) {
    case ImportIssue::kNoGpu:
      return "profile where JAX or TensorFlow sees a GPU; a process without access to the GPU's "
             "profiler records only its host";
    case ImportIssue::kNoHost:
      return "host_tracer_level=1 or higher in the profiler's options";
    case ImportIssue::kNoOperators:
    case ImportIssue::kNoShapes:
      return "none with this profiler: it writes operations of compiled programs, without shapes";
    case ImportIssue::kNoDeviceProperties:
      return "none: this profiler writes no product names; state the GPU with `headroom predict "
             "--from NAME`";
    case ImportIssue::kNoStacks:
      return "python_tracer_level=1 in the profiler's options";
    case ImportIssue::kNoSteps:
      return "jax.profiler.StepTraceAnnotation(\"train\", step_num=i) around each step, in "
             "TensorFlow tf.profiler.experimental.Trace(\"train\", step_num=i, _r=1)";
    case ImportIssue::kOrphanTask:
      return "start the profiler before the step, and record the host";
    case ImportIssue::kLaunchWithoutTask:
    case ImportIssue::kStepWithoutKernels:
      return "block_until_ready() before the profiler stops";
    case ImportIssue::kRecorderWarning:
      return "see the profiler's log";
    case ImportIssue::kEventCap:
      return format == kXlaJsonFormat
                 ? "the writer stops at 1,000,000 events; use the .xplane.pb in the same folder"
                 : std::string();
    default:
      return std::string(DocOf(issue).remedy);
  }
}

/// Remedies for a memory snapshot, which only contains the allocator's history.
std::string RemedyForMemorySnapshot(ImportIssue issue) {
  switch (issue) {
    case ImportIssue::kNoGpu:
    case ImportIssue::kNoHost:
    case ImportIssue::kNoOperators:
    case ImportIssue::kNoShapes:
      return "record with torch.profiler: a memory snapshot contains only the allocator's history";
    case ImportIssue::kNoStacks:
      return "torch.cuda.memory._record_memory_history(stacks=\"all\")";
    case ImportIssue::kNoSteps:
      return "record stacks that contain the optimizer's step "
             "(torch.cuda.memory._record_memory_history(stacks=\"all\"))";
    case ImportIssue::kTruncated:
      return "let _dump_snapshot() finish, or copy the file again";
    default:
      return std::string(DocOf(issue).remedy);
  }
}

/// Remedies for a Chakra execution trace from another tool.
std::string RemedyForChakra(ImportIssue issue) {
  switch (issue) {
    case ImportIssue::kNoGpu:
      return "link PyTorch's execution trace with the profiler's trace (chakra_trace_link) before "
             "the conversion";
    case ImportIssue::kNoHost:
    case ImportIssue::kOrphanTask:
      return "include the host nodes (is_cpu_op) on which the GPU nodes depend";
    case ImportIssue::kNoOperators:
    case ImportIssue::kNoShapes:
      return "use the profiler's trace from which the nodes were made";
    case ImportIssue::kNoStacks:
      return "the trace of PyTorch's profiler, with with_stack=True";
    case ImportIssue::kNoSteps:
      return "torch.profiler.record_function(f\"step {i}\") around each iteration that the "
             "execution trace records";
    default:
      return std::string(DocOf(issue).remedy);
  }
}

/// Remedies for a file of spans from any program.
std::string RemedyForChrome(ImportIssue issue) {
  switch (issue) {
    case ImportIssue::kNoGpu:
      return "a file of spans has no GPU work; record the GPU work with `headroom "
             "record`, torch.profiler, nsys or rocprofv3";
    case ImportIssue::kNoHost:
      return "write spans of the program's work (\"ph\": \"X\", or \"B\" and \"E\")";
    case ImportIssue::kNoOperators:
    case ImportIssue::kNoShapes:
    case ImportIssue::kNoStacks:
      return "a file of spans does not have them; torch.profiler records them for a PyTorch "
             "program";
    case ImportIssue::kNoSteps:
      return "name spans \"step 0\", \"step 1\", ...";
    default:
      return std::string(DocOf(issue).remedy);
  }
}

/// Remedies for Headroom's recordings, and for other tools' recordings in that format.
std::string RemedyForPerfetto(ImportIssue issue) {
  const std::string_view remedy = DocOf(issue).remedy;
  switch (issue) {
    case ImportIssue::kNoGpu:
      return "headroom record on a machine with a GPU; headroom doctor shows what is missing";
    case ImportIssue::kNoHost:
      return "mark the host's work (headroom.scope(), headroom.step()), or let the tool that wrote "
             "the file record calls and ranges";
    case ImportIssue::kNoOperators:
    case ImportIssue::kNoShapes:
    case ImportIssue::kNoStacks:
      return fmt::format("torch.profiler, with {}", remedy);
    case ImportIssue::kNoSteps:
      return "headroom.step() in Python, headroom::Step in C++, around each iteration";
    default:
      return std::string(remedy);
  }
}

}  // namespace

std::string RemedyOf(ImportIssue issue, std::string_view format) {
  if (format == kPerfettoFormat) return RemedyForPerfetto(issue);
  if (format == kNsightFormat) return RemedyForNsight(issue);
  if (format == kRocprofFormat || format == kRocpdFormat || format == kOldRocprofFormat)
    return RemedyForRocprof(issue);
  if (format == kMemorySnapshotFormat) return RemedyForMemorySnapshot(issue);
  if (format == kChromeFormat || format == kTimelineFormat) return RemedyForChrome(issue);
  if (format == kChakraFormat) return RemedyForChakra(issue);
  if (IsOfXla(format)) return RemedyForXla(issue, format);
  return std::string(DocOf(issue).remedy);
}

std::string HowToTellSteps(std::string_view format) {
  return fmt::format("{}, or use --step-marker to name the range that begins a step",
                     RemedyOf(ImportIssue::kNoSteps, format));
}

}  // namespace headroom
