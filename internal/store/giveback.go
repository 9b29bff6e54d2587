package store

// GiveBack undoes what Begin did to a NAME that another tool left and that turned out to be
// no part of the object: it is as it was. It has no effect on others, and ends the File.
func (f *File) GiveBack() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.adopted == 0 || f.inPlace || f.whole {
		return nil
	}
	if err := f.stillOurs(); err != nil {
		return err
	}
	if err := f.file.Truncate(f.adopted); err != nil {
		return fail("truncate", f.path+partSuffix, err)
	}
	if err := f.dir.renameNoReplace(f.path+partSuffix, f.path); err != nil {
		return fail("rename", f.path+partSuffix, err)
	}
	if err := f.removeOwnJournal(); err != nil {
		return err
	}
	if err := f.syncNames(); err != nil {
		return err
	}
	return f.close()
}
