"""The command `atomworld`, one module per subcommand."""
