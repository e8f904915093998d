// Devices and streams of a store that is being filled.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "store/trace_store.h"

namespace headroom::kineto {

/// Finds devices and streams of a store by number, and appends missing ones.
class Streams {
 public:
  explicit Streams(TraceStore& store) : store_(store) {
    for (std::size_t row = 0; row < store.devices.rows(); ++row)
      devices_.try_emplace(store.devices.ordinal.Pending(row), DeviceId(row));
    for (std::size_t row = 0; row < store.streams.rows(); ++row) {
      streams_.try_emplace({store.streams.device.Pending(row), store.streams.number.Pending(row)},
                           StreamId(row));
    }
  }

  /// @param ordinal  number of the device
  StreamId Of(std::int64_t ordinal, std::int64_t number) {
    const auto [device, new_device] =
        devices_.try_emplace(ordinal, DeviceId(store_.devices.rows()));
    if (new_device) store_.devices.ordinal.MutablePending(AppendUnknown(store_.devices)) = ordinal;
    const auto [stream, new_stream] =
        streams_.try_emplace({device->second, number}, StreamId(store_.streams.rows()));
    if (new_stream) {
      const std::size_t row = AppendUnknown(store_.streams);
      store_.streams.device.MutablePending(row) = device->second;
      store_.streams.number.MutablePending(row) = number;
    }
    return stream->second;
  }

 private:
  TraceStore& store_;
  std::map<std::int64_t, DeviceId> devices_;
  std::map<std::pair<DeviceId, std::int64_t>, StreamId> streams_;
};

}  // namespace headroom::kineto
