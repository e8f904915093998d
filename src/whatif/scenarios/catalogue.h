// The scenarios, one file each; Catalogue() lists them.
#pragma once

#include "whatif/scenarios/scenario.h"

namespace headroom {

Effect ApplyAmp(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyFp8(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyTf32(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyFusedOptimizer(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyOptimizer(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyFlashAttention(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyLora(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyFreeze(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyBatchSize(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyGradientAccumulation(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyAttention(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyPacking(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyFusedCrossEntropy(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyVocabularyPadding(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplySequenceLength(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyVdnn(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyOffload(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyGist(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyHorizontalFusion(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyDataLoading(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyCallbacks(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyDataParallel(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyP3(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyBlueConnect(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyDgc(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyCudaGraph(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyChannelsLast(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyCheckpointing(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyCompile(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyFusePointwise(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyRestructuredBatchnorm(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyMetaflow(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyGpuSpeed(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyThreads(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyHostSpeed(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyNetworkSpeed(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyScale(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyRemove(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyPowerLimit(const Job& job, const Arguments& arguments, Edit& edit);
Effect ApplyRemoveSyncs(const Job& job, const Arguments& arguments, Edit& edit);

}  // namespace headroom
