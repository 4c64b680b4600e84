import type { BuildOptions } from "esbuild";

export function bundle(options: BuildOptions): Promise<void>;
