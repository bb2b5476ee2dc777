#include "base/json.h"

#include <boost/json/parse_options.hpp>
#include <boost/json/stream_parser.hpp>

namespace sluice::json {

Result<value> parse(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kDepthMax;
  boost::json::stream_parser parser({}, options);
  boost::system::error_code error;
  const std::size_t read = parser.write_some(text.data(), text.size(), error);
  if (!error && read < text.size()) error = boost::json::error::extra_data;
  if (!error) parser.finish(error);
  if (error) return fail(ErrorCode::kInvalidArgument, "invalid JSON at byte {}: {}", read, error.message());
  return parser.release();
}

}  // namespace sluice::json
