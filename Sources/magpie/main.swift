import EventLoop

System.ignoreBrokenPipes()
CommandLineInterface.main(Array(CommandLine.arguments.dropFirst()))
