list(APPEND formats_sources json/json.cc)
list(APPEND formats_tests json/json_test.cc)
list(APPEND formats_libs nlohmann_json::nlohmann_json)
