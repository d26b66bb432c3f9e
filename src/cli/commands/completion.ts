import { Argument, Command } from "commander";
import { completionScript, type Shell, shells } from "../completion-script.ts";

export function completionCommand(program: () => Command): Command {
  return new Command("completion")
    .description("Print a shell completion script.")
    .addArgument(new Argument("<shell>").choices([...shells]))
    .addHelpText(
      "after",
      `
  bash: heddle completion bash > ~/.local/share/bash-completion/completions/heddle
  zsh:  heddle completion zsh > "\${fpath[1]}/_heddle"
  fish: heddle completion fish > ~/.config/fish/completions/heddle.fish`,
    )
    .action((shell: Shell) => {
      process.stdout.write(completionScript(shell, program()));
    });
}
