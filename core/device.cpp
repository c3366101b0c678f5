#include "core/device.h"

#include "core/error.h"

namespace fb {

Device parse_device(const std::string& s) {
  const size_t colon = s.find(':');
  const std::string type = s.substr(0, colon);
  Device d;
  if (type == "cpu") d.type = DeviceType::cpu;
  else if (type == "cuda") d.type = DeviceType::cuda;
  else if (type == "meta") d.type = DeviceType::meta;
  else raise_runtime("device string '", s, "' names no device: the type must be cpu, cuda or meta");
  if (colon != std::string::npos) {
    const std::string n = s.substr(colon + 1);
    bool ok = !n.empty() && n.size() <= 3 && !(n.size() > 1 && n[0] == '0');
    for (char c : n) ok = ok && c >= '0' && c <= '9';
    const int v = ok ? std::stoi(n) : 0;
    FB_CHECK(ok && v < 128, "device string '", s, "': '", n, "' is not a device index from 0 to 127");
    d.index = int8_t(v);
  }
  return d;
}

}  // namespace fb
