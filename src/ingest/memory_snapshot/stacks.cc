#include "ingest/memory_snapshot/stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace headroom::memory_snapshot {
namespace {

/// Returns add_Tensor for `at::_ops::add_Tensor::call(...)`; nullopt if the function is not an
/// entry point of the dispatcher.
std::optional<std::string_view> OperatorOf(std::string_view function) {
  constexpr std::string_view kPrefix = "at::_ops::";
  if (!function.starts_with(kPrefix)) return std::nullopt;
  function.remove_prefix(kPrefix.size());
  const std::size_t end = function.find("::");
  if (end == 0 || end == std::string_view::npos || !function.substr(end).starts_with("::call"))
    return std::nullopt;
  return function.substr(0, end);
}

/// Removes the overload from a dispatcher's name, because the profiler's names do not have it. An
/// overload begins with a capital (`add_Tensor`, `sum_dim_IntList`) or is "out".
std::string_view WithoutOverload(std::string_view name) {
  for (std::size_t at = name.find('_', 1); at != std::string_view::npos;
       at = name.find('_', at + 1)) {
    const std::string_view rest = name.substr(at + 1);
    if (!rest.empty() && rest.front() >= 'A' && rest.front() <= 'Z') return name.substr(0, at);
    if (rest == "out") return name.substr(0, at);
  }
  return name;
}

/// Returns a function's name without its arguments.
std::string_view WithoutArguments(std::string_view function) {
  return function.substr(0, function.find('('));
}

/// Returns the category that PyTorch's profiler uses for a kind.
std::string_view CategoryOf(HostEventKind kind) {
  if (kind == HostEventKind::kPythonFrame) return "python_function";
  return kind == HostEventKind::kOperator ? "cpu_op" : "user_annotation";
}

/// Returns true if the path contains `folder`, a folder or file of PyTorch, in any installation.
bool IsTorchFile(std::string_view file, std::string_view folder) {
  const std::size_t at = file.rfind(folder);
  return at != std::string_view::npos && (at == 0 || file[at - 1] == '/' || file[at - 1] == '\\');
}

}  // namespace

std::optional<std::uint32_t> Frames::Take(const PickleValues& values,
                                          std::span<const Value> items) {
  Frame frame;
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    const std::string_view key = values.TextOf(items[i]);
    const Value value = items[i + 1];
    if (key == "line" && value.is(Value::Kind::kInteger)) frame.line = value.payload();
    if (!value.is(Value::Kind::kText)) continue;
    const StringId text(static_cast<std::size_t>(value.payload()));
    if (key == "filename") frame.file = text;
    if (key == "name") frame.function = text;
  }
  if (!frame.file.valid() || !frame.function.valid()) return std::nullopt;
  const auto [known, is_new] =
      numbers_.try_emplace(frame, static_cast<std::uint32_t>(frames_.size()));
  if (is_new) frames_.push_back(&known->first);
  return known->second;
}

Stacks::Drawn Stacks::Draw(const Frames::Frame& frame) {
  const std::string_view file = values_.strings.Get(frame.file);
  const std::string_view function = values_.strings.Get(frame.function);
  if (file.ends_with(".py") || file.starts_with("<")) {
    Drawn drawn;
    drawn.range = {store_.strings.Intern(fmt::format("{}({}): {}", file, frame.line, function)),
                   HostEventKind::kPythonFrame};
    const auto annotate = [&](std::string_view name) {
      drawn.annotation = {store_.strings.Intern(name), HostEventKind::kAnnotation};
    };
    if (function == "step" && IsTorchFile(file, "torch/optim/"))
      annotate("Optimizer.step#step");
    else if (function == "__next__" && IsTorchFile(file, "torch/utils/data/dataloader.py"))
      annotate("enumerate(DataLoader)#__next__");
    return drawn;
  }
  if (const auto op = OperatorOf(function)) {
    return {{store_.strings.Intern(fmt::format("aten::{}", WithoutOverload(*op))),
             HostEventKind::kOperator},
            {}};
  }
  if (function.starts_with("torch::autograd::"))
    return {{store_.strings.Intern(WithoutArguments(function)), HostEventKind::kAnnotation}, {}};
  return {};
}

std::vector<Range> Stacks::RangesOf(std::u32string_view frames) {
  std::vector<Range> ranges;
  for (const std::uint32_t number : frames) {
    if (drawn_.size() <= number) drawn_.resize(frames_.size());
    if (!drawn_[number]) drawn_[number] = Draw(frames_[number]);
    const auto& [range, annotation] = *drawn_[number];
    // Merge successive frames of one operator, which come from redispatching and from autograd
    // wrappers.
    if (range.name.valid() && (ranges.empty() || !(ranges.back() == range)))
      ranges.push_back(range);
    if (annotation.name.valid()) ranges.push_back(annotation);
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

const std::vector<Range>& Stacks::Of(Value stack) {
  numbers_.clear();
  // Bounds the work: a hostile file may use one long list as the stack of a million records.
  std::size_t looked_at = 0;
  values_.ForEachRun(stack, [&](std::span<const Value> run) {
    for (const Value frame : run) {
      if (++looked_at > kDeepestStack) return false;
      if (values_.IsRecord(frame) && IsFrameRecord(values_.RecordOf(frame)))
        numbers_.push_back(NumberOfRecord(values_.RecordOf(frame)));
    }
    return true;
  });
  const auto found = stacks_.find(numbers_);
  if (found != stacks_.end()) return found->second;
  return stacks_.emplace(numbers_, RangesOf(numbers_)).first->second;
}

void RangeWriter::Add(TimeNs time, const std::vector<Range>& stack) {
  // The stacks of a loop differ in a few frames; those of a hostile file may differ in all of them.
  constexpr std::int64_t kFreeRanges = 1 << 20, kRangesPerRecord = 32;
  ++records_;
  std::size_t same = 0;
  while (same < open_.size() && same < stack.size() && open_[same].first == stack[same]) ++same;
  CloseTo(same);
  last_ = time;
  const auto more = static_cast<std::int64_t>(stack.size() - same);
  if (ranges_ + more > kFreeRanges + kRangesPerRecord * records_) {
    ++left_out_;
    return;
  }
  ranges_ += more;
  for (std::size_t i = same; i < stack.size(); ++i) open_.emplace_back(stack[i], time);
}

void RangeWriter::CloseTo(std::size_t depth) {
  auto& events = store_.host_events;
  // Appends the outermost range first, because ranges of equal length nest in the order of their
  // rows.
  for (std::size_t i = depth; i < open_.size(); ++i) {
    const auto& [range, start] = open_[i];
    const std::size_t row = AppendUnknown(events);
    events.start.MutablePending(row) = start;
    // Adds 1 ns, so that the last record is inside the range.
    events.duration.MutablePending(row) = last_ - start + DurationNs(1);
    events.name.MutablePending(row) = range.name;
    events.category.MutablePending(row) = store_.strings.Intern(CategoryOf(range.kind));
    events.thread.MutablePending(row) = thread_;
    events.kind.MutablePending(row) = range.kind;
  }
  open_.resize(std::min(open_.size(), depth));
}

}  // namespace headroom::memory_snapshot
