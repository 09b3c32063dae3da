"""CTranslate2 and Argos Translate: export of directories and packages."""
