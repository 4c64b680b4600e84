import type { MoreRunners, StatementRunner } from "./run-statements.ts";
import type { Engine, Sql } from "./sql.ts";

/** How whoever follows requests is told of the statements that they lead to. */
export type TraceSql = {
  readonly statement: <Result>(engine: Engine, text: string, run: () => Result) => Result;
  /** `own` makes of a part of the work one that is known to belong here, whoever runs it. */
  readonly transaction: <Result>(
    engine: Engine,
    run: (
      own: <Work extends (...given: never[]) => unknown>(work: Work) => Work,
    ) => Promise<Result>,
  ) => Promise<Result>;
};

/** The same statements, told of. */
export function traceStatements(
  engine: Engine,
  { run, prepare, each }: Pick<StatementRunner, "run"> & MoreRunners,
  { statement }: TraceSql,
): Pick<StatementRunner, "run"> & MoreRunners {
  return {
    run: (query) => statement(engine, query.sql, () => run(query)),
    ...(each && {
      each: (query, take) => statement(engine, query.sql, () => each(query, take)),
    }),
    ...(prepare && {
      prepare: (sql: string) => {
        const runPrepared = prepare(sql);
        return (parameters) => statement(engine, sql, () => runPrepared(parameters));
      },
    }),
  };
}

/** The same database, whose writes and long reads are told of. */
export function traceTransactions<Tables>(
  sql: Sql<Tables>,
  trace: TraceSql | undefined,
): Sql<Tables> {
  if (trace === undefined) return sql;
  const { engine } = sql;
  return {
    ...sql,
    write: (work, options) => trace.transaction(engine, (own) => sql.write(own(work), options)),
    readLong: (work, options) =>
      trace.transaction(engine, (own) => sql.readLong(own(work), options)),
  };
}
