import type { Config } from "../config.ts";
import type { WatchRequest } from "../contract/watch.ts";
import type { NoteSql } from "../sql/watch-sql.ts";
import { describeLinkOrigin } from "./addresses.ts";
import { openDeployment, type Deployment } from "./deployment.ts";

type Wanted = {
  readonly config: Config;
  readonly report: (error: unknown) => string;
  readonly readLinkOrigin?: () => string;
  readonly watchRequest?: WatchRequest | undefined;
  /** Notes where the operator looks what the store has not done as it should. */
  readonly noteStore?: NoteSql | undefined;
};

/** Opens the deployment that the configuration names, and closes it, whatever happens. */
export async function withDeployment<Result>(
  { readLinkOrigin, ...wanted }: Wanted,
  work: (deployment: Deployment) => Promise<Result>,
): Promise<Result> {
  const { config } = wanted;
  const readUsual = () => describeLinkOrigin(config, config.port);
  const deployment = await openDeployment({
    ...wanted,
    readLinkOrigin: readLinkOrigin ?? readUsual,
  });
  try {
    return await work(deployment);
  } finally {
    await deployment.close();
  }
}
