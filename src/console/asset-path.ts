/** Where the console's own files are, which browsers take as what they are. */
export const assetPath = "/console/";
