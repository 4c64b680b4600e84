import type { Operator } from "../../admin/operator.ts";
import { UsageFault, type Config } from "../../config.ts";
import { operatorPrint } from "../../state/history.ts";
import { findProject, findProjectNamed, type StoredProject } from "../../store/projects.ts";
import type { Db } from "../../store/tables.ts";
import { withDeployment } from "./deployment.ts";
import { clock, random, requireData, requireOwn } from "./embedded.ts";
import { createLog, createReport } from "./log.ts";

/** Gives commands the operator's access to the store, and finds the project that they name. */

type OperatorOptions = {
  /** Whether the command may create the data folder. Otherwise, a missing folder is an error. */
  readonly mayCreate?: boolean;
};

/** Runs a command as the operator, and records its changes in the history. */
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

/** Finds a project by ID or subdomain. The name is optional if only one project exists. */
export async function requireProject(db: Db, name: string | undefined): Promise<StoredProject> {
  const found = name === undefined ? await findOnlyProject(db) : await findNamed(db, name);
  if (found !== undefined) return found;
  throw new UsageFault(
    name === undefined
      ? "choose a project with --project; waypost projects list shows all of them"
      : `the project ${name} does not exist; run waypost projects list to see all projects`,
  );
}

async function findNamed(db: Db, name: string): Promise<StoredProject | undefined> {
  return (await findProject(db, name)) ?? findProjectNamed(db, "subdomain", name.toLowerCase());
}

/** Returns undefined if several projects exist. */
export async function findOnlyProject(db: Db): Promise<StoredProject | undefined> {
  const rows = await db.selectFrom("projects").select("id").limit(2).execute();
  const [only, other] = rows;
  return only === undefined || other !== undefined ? undefined : findProject(db, only.id);
}
