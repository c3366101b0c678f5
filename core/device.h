// Devices, layouts and memory formats: small values with PyTorch's names.
#pragma once
#include <cstdint>
#include <string>

namespace fb {

enum class DeviceType : uint8_t { cpu = 0, cuda = 1, meta = 14 };

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = -1;  // -1: the current one
  constexpr bool operator==(const Device&) const = default;
  constexpr bool is_cpu() const { return type == DeviceType::cpu; }
  constexpr bool is_meta() const { return type == DeviceType::meta; }
};

constexpr const char* device_type_name(DeviceType t) {
  return t == DeviceType::cpu ? "cpu" : t == DeviceType::cuda ? "cuda" : "meta";
}
// "cpu", "cuda:0"; raises RuntimeError for anything that names no device.
Device parse_device(const std::string& s);

enum class Layout : uint8_t { strided = 0, sparse_coo = 1, sparse_csr = 2, sparse_csc = 3, sparse_bsr = 4, sparse_bsc = 5, jagged = 6, mkldnn = 7 };
enum class MemoryFormat : uint8_t { contiguous = 0, preserve = 1, channels_last = 2, channels_last_3d = 3 };

namespace detail {
inline void append(std::string& s, Device d) {
  s += device_type_name(d.type);
  if (d.index >= 0) s += ":" + std::to_string(int(d.index));
}
}  // namespace detail
using detail::append;

}  // namespace fb
