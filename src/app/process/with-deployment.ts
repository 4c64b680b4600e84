import { describeLinkOrigin } from "../http/addresses.ts";
import { openDeployment, type Deployment, type DeploymentOptions } from "./deployment.ts";

type Wanted = Omit<DeploymentOptions, "readLinkOrigin" | "isLook"> &
  Partial<Pick<DeploymentOptions, "readLinkOrigin">>;

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
