import type { Config } from "../config.ts";
import { describeLinkOrigin } from "./addresses.ts";
import { openDeployment, type Deployment } from "./deployment.ts";

type Wanted = {
  readonly config: Config;
  readonly report: (error: unknown) => string;
  readonly readLinkOrigin?: () => string;
};

/** Opens the deployment that the configuration names, and closes it, whatever happens. */
export async function withDeployment<Result>(
  { config, report, readLinkOrigin = () => describeLinkOrigin(config, config.port) }: Wanted,
  work: (deployment: Deployment) => Promise<Result>,
): Promise<Result> {
  const deployment = await openDeployment({ config, readLinkOrigin, report });
  try {
    return await work(deployment);
  } finally {
    await deployment.close();
  }
}
