import type { Operator } from "../../admin/operator.ts";
import type { Config } from "../../config.ts";
import { operatorPrint } from "../../state/history.ts";
import { embeddedOrigin } from "./deployment.ts";
import { clock, random, withEmbedded, withKnownEmbedded } from "./embedded.ts";
import { createLazyState } from "./lazy-state.ts";
import { createLog, createReport } from "./log.ts";

type OperatorOptions = {
  /** Whether the command may create the data folder; otherwise a missing one is a mistyped name. */
  readonly mayCreate?: boolean;
};

/** Runs a command as the operator, whose changes are recorded in the history. */
export function withOperator<Result>(
  config: Config,
  work: (operator: Operator) => Promise<Result>,
  { mayCreate = false }: OperatorOptions = {},
): Promise<Result> {
  return (mayCreate ? withEmbedded : withKnownEmbedded)(config, async (store) => {
    const { open, close } = createLazyState(config);
    try {
      return await work({
        store,
        clock,
        random,
        origin: embeddedOrigin,
        openHistory: async () => (await open()).history,
        report: createReport(createLog(config)),
        key_print: operatorPrint,
        client: null,
      });
    } finally {
      await close();
    }
  });
}
