// The operators of a job that launch GPU work, in order of their calls.
#pragma once

#include <string_view>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

/// One operator with its GPU tasks.
struct LaunchingOperator {
  /// The innermost operator around the launches whose cost is known; the innermost operator if no
  /// cost is known.
  HostEventId op;
  std::vector<TaskIndex> tasks;  ///< Sorted in graph order; not empty.
};

/// Returns all operators with GPU tasks, sorted by start.
std::vector<LaunchingOperator> LaunchingOperators(const Job& job);

std::string_view NameOfOperator(const Job& job, HostEventId op);

/// Returns the product of the extents; 1 for a scalar.
double ElementsOf(const TensorArg& tensor);

/// Returns the first tensor among the arguments; nullptr if no argument is a tensor.
const TensorArg* FirstTensor(const OperatorCall& call);

/// Returns the number of elements of the largest tensor among the arguments.
double LargestElements(const OperatorCall& call);

/// Returns the outermost aten:: operator around `op`, such as aten::matmul around aten::bmm;
/// otherwise `op` itself.
HostEventId OutermostOperator(const Job& job, HostEventId op);

/// Returns the operator with an autograd sequence number at or around `op`; invalid if no such
/// operator exists.
HostEventId NumberedOperator(const Job& job, HostEventId op);

/// Returns one past the last row inside an event, or past the event if nothing is nested in it.
std::uint32_t EndRow(const Job& job, HostEventId event);

}  // namespace headroom
