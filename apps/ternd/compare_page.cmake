# Fails when PAGE is not what TOOL prints; leaves that in OUT.
execute_process(COMMAND "${TOOL}" configuration.md OUTPUT_FILE "${OUT}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files "${PAGE}" "${OUT}" RESULT_VARIABLE different)
if(different)
  message(FATAL_ERROR "${PAGE} is not what the option table says: run tools/generate_option_pages")
endif()
