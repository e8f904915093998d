#include "whatif/job/blocks.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>

#include "analysis/names/operator_costs.h"

namespace headroom {
namespace {

/// Largest number of operators in a block; longer periods are not blocks of a network.
constexpr std::size_t kLongestPeriod = 2'000;
constexpr int kMinProducts = 2;

/// Returns a string that is equal for operators with the same name and shapes.
std::string Signature(const Job& job, const LaunchingOperator& op) {
  std::string text(NameOfOperator(job, op.op));
  const OperatorCall* call = job.CallOf(op.op);
  if (!call) return text;
  for (const OperatorArg& arg : call->args) {
    for (const TensorArg& tensor : arg.tensors) {
      text += '|';
      for (const std::int64_t extent : tensor.dims) text += std::to_string(extent) + ',';
    }
  }
  return text;
}

/// Returns the longest stretch of repeats inside [begin, end); ties go to the shorter period.
Repeat LongestRepeat(const std::vector<std::size_t>& tokens, const std::vector<int>& sums,
                     std::size_t begin, std::size_t end) {
  Repeat best;
  for (std::size_t period = 1; period <= std::min(kLongestPeriod, (end - begin) / 2); ++period) {
    std::size_t run = 0;
    for (std::size_t i = begin; i + period < end; ++i) {
      run = tokens[i] == tokens[i + period] ? run + 1 : 0;
      if (run < period) continue;
      const std::size_t first = i + 1 - run, count = run / period + 1;
      if (count * period <= best.count * best.period) continue;
      if (sums[first + period] - sums[first] < kMinProducts) continue;
      best = {.first = first, .period = period, .count = count};
    }
  }
  return best;
}

void FindInside(const std::vector<std::size_t>& tokens, const std::vector<int>& sums,
                std::size_t begin, std::size_t end, std::vector<Repeat>& found) {
  if (end - begin < 2) return;
  Repeat best = LongestRepeat(tokens, sums, begin, end);
  if (best.count == 0) return;
  const std::size_t behind = best.first + best.count * best.period;
  while (behind + best.later < end &&
         tokens[behind + best.later] == tokens[behind + best.later - best.period])
    ++best.later;
  found.push_back(best);
  FindInside(tokens, sums, begin, best.first, found);
  FindInside(tokens, sums, best.first + best.count * best.period, end, found);
}

/// Returns the possible start with the smallest total cost of its cuts; the earliest start if
/// `cost` is empty.
std::size_t FirstOf(const Repeat& repeat, const std::vector<LaunchingOperator>& operators,
                    const CutCost& cost) {
  std::size_t best = repeat.first;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t first = repeat.first; cost && first <= repeat.first + repeat.later; ++first) {
    double sum = 0;
    for (std::size_t b = 0; b <= repeat.count; ++b) {
      const std::size_t cut = first + b * repeat.period;
      if (cut > 0) sum += cost(operators[cut - 1]);
    }
    if (sum < least) {
      least = sum;
      best = first;
    }
  }
  return best;
}

}  // namespace

std::vector<Repeat> FindRepeats(const std::vector<std::size_t>& tokens,
                                const std::vector<int>& weights) {
  std::vector<int> sums(tokens.size() + 1);
  std::partial_sum(weights.begin(), weights.end(), sums.begin() + 1);
  std::vector<Repeat> found;
  FindInside(tokens, sums, 0, tokens.size(), found);
  return found;
}

std::vector<Block> FindBlocks(const Job& job, const CutCost& cost) {
  std::map<std::int32_t, std::vector<LaunchingOperator>> forward_of_step;
  for (LaunchingOperator& op : LaunchingOperators(job)) {
    const TaskIndex task = op.tasks.front();
    const HostContext& context = job.ContextOf(task);
    if (context.phase != Phase::kForward && context.phase != Phase::kOther) continue;
    forward_of_step[job.graph().tasks[task].step].push_back(std::move(op));
  }
  std::vector<Block> blocks;
  for (auto& [step, operators] : forward_of_step) {
    std::unordered_map<std::string, std::size_t> numbers;
    std::vector<std::size_t> tokens;
    std::vector<int> products;
    for (const LaunchingOperator& op : operators) {
      tokens.push_back(numbers.try_emplace(Signature(job, op), numbers.size()).first->second);
      const OperatorCost* work = job.CostOf(op.op);
      products.push_back(work != nullptr && MultipliesMatrices(work->family) ? 1 : 0);
    }
    std::vector<Repeat> repeats = FindRepeats(tokens, products);
    std::sort(repeats.begin(), repeats.end(),
              [](const Repeat& a, const Repeat& b) { return a.first < b.first; });
    for (std::size_t r = 0; r < repeats.size(); ++r) {
      Repeat& repeat = repeats[r];
      const std::size_t behind = repeat.first + repeat.count * repeat.period;
      const std::size_t next = r + 1 < repeats.size() ? repeats[r + 1].first : operators.size();
      repeat.later = std::min(repeat.later, next - behind);
      const std::size_t first = FirstOf(repeat, operators, cost);
      for (std::size_t b = 0; b < repeat.count; ++b) {
        Block& block = blocks.emplace_back();
        for (std::size_t i = 0; i < repeat.period; ++i)
          block.operators.push_back(std::move(operators[first + b * repeat.period + i]));
      }
    }
  }
  return blocks;
}

}  // namespace headroom
