import type { Operator } from "../../admin/operator.ts";
import type { Config } from "../../config.ts";
import { operatorPrint } from "../../state/history.ts";
import { withDeployment } from "./deployment.ts";
import { clock, random, requireData, requireOwn } from "./embedded.ts";
import { createLog, createReport } from "./log.ts";

type OperatorOptions = {
  /** Whether the command may create the data folder; otherwise a missing one is a mistyped name. */
  readonly mayCreate?: boolean;
};

/** Runs a command as the operator, whose changes are recorded in the history. */
export async function withOperator<Result>(
  config: Config,
  work: (operator: Operator) => Promise<Result>,
  { mayCreate = false }: OperatorOptions = {},
): Promise<Result> {
  requireOwn(config);
  if (!mayCreate) requireData(config);
  const report = createReport(createLog(config));
  return withDeployment({ config, report, mayBeReadOnly: true }, ({ own, origin, state }) => {
    if (own === undefined) throw new Error("only a remote server has no store here");
    return work({
      store: own.store,
      clock,
      random,
      origin,
      openHistory: async () => (await state.open()).history,
      report,
      key_print: operatorPrint,
      client: null,
    });
  });
}
