declare module "*.wat" {
  const base64: string;
  export default base64;
}
