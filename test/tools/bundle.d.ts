import type { BuildOptions } from "esbuild";

/** Bundles the code in src into files that Node can run. */
export function bundle(options: BuildOptions): Promise<void>;
