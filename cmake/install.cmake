# `cmake --install`: the program, the two libraries with their three headers, find_package(neap) and
# pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS neap RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS neap_shared EXPORT neapTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS neap_solvers EXPORT neapSolversTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(neap_headers neap.h neap_c.h neap_solvers.h)
list(TRANSFORM neap_headers PREPEND ${PROJECT_SOURCE_DIR}/neap/api/)
install(FILES ${neap_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/neap)
# Relative to the .pc files, so that the installed tree may be moved.
file(RELATIVE_PATH neap_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library neap neap-solvers)
  configure_file(cmake/${library}.pc.in ${PROJECT_BINARY_DIR}/${library}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(neap_config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/neap)
install(EXPORT neapTargets NAMESPACE neap:: DESTINATION ${neap_config_folder})
install(EXPORT neapSolversTargets NAMESPACE neap:: DESTINATION ${neap_config_folder})
configure_package_config_file(cmake/neapConfig.cmake.in ${PROJECT_BINARY_DIR}/neapConfig.cmake
  INSTALL_DESTINATION ${neap_config_folder})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/neapConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/neapConfig.cmake ${PROJECT_BINARY_DIR}/neapConfigVersion.cmake
        DESTINATION ${neap_config_folder})
install(FILES share/man/neap.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES share/completions/neap.bash RENAME neap
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES share/completions/_neap DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES share/completions/neap.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/neap)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/neap
        FILES_MATCHING PATTERN "*.schema.json")
