/**
 * The path of styles and scripts, under the sign-in path, because signed-out visitors need them.
 */
export const assetPath = "/sign-in/files/";
